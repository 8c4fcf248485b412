# On a fresh machine `make demo` and `make test` do everything: each target sets up what it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow lint types bench experiments docs clean

.venv/.dev: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

.venv/.bench: .venv/.dev
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@

.venv/.docs: .venv/.dev
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

demo: .venv/.dev            ## fit on an embedded data set, print figures, save a picture
	$(BIN)/bayespoint demo

test: .venv/.dev            ## the tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadgroup

test-slow: .venv/.dev       ## slow statistical and experiment tests
	$(BIN)/python -m pytest -q -m slow

lint: .venv/.dev            ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.bench         ## speed as ratios of two programs in one run
	$(BIN)/python benchmarks/ep.py
	$(BIN)/python benchmarks/samplers.py
	$(BIN)/python benchmarks/samplers.py --hinge 2
	$(BIN)/python benchmarks/billiard.py
	$(BIN)/python benchmarks/evidence.py
	$(BIN)/python benchmarks/svm.py
	$(BIN)/python benchmarks/margin.py
	$(BIN)/python benchmarks/mnist.py
	$(BIN)/python benchmarks/low_rank.py
	$(BIN)/python benchmarks/streaming.py
	$(BIN)/python benchmarks/active.py
	$(BIN)/python benchmarks/label_errors.py

experiments: .venv/.dev     ## the papers' tables and our own
	$(BIN)/python experiments/herbrich2001/table1.py
	$(BIN)/python experiments/herbrich2001/figure9.py
	$(BIN)/python experiments/herbrich2001/figure10.py
	$(BIN)/python experiments/real_data.py
	$(BIN)/python experiments/herbrich1999/figure1.py
	$(BIN)/python experiments/herbrich1999/figure2.py
	$(BIN)/python experiments/certificates.py
	$(BIN)/python experiments/active_learning.py
	$(BIN)/python experiments/graepel2001/figure3.py
	$(BIN)/python experiments/graepel2001/figure4.py
	for script in experiments/sollich2002/[cefpt]*.py; do $(BIN)/python $$script || exit 1; done
	$(BIN)/python experiments/crammer2009/figure2.py
	$(BIN)/python experiments/crammer2009/bounds.py

docs: .venv/.docs           ## HTML pages in docs/_build
	$(BIN)/sphinx-build -W -q -b html docs docs/_build

clean:
	rm -rf .venv docs/_build .mypy_cache .ruff_cache .pytest_cache
