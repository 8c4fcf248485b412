# On a fresh machine `make demo` and `make test` do everything: each target sets up what it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow lint types bench experiments experiments-quick docs clean

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
	$(BIN)/python benchmarks/run.py
	$(BIN)/python experiments/page.py

experiments: .venv/.dev     ## every table and figure of the papers; goes on where it was stopped
	$(BIN)/bayespoint reproduce

experiments-quick: .venv/.dev  ## the same in a size that only shows that everything runs
	$(BIN)/bayespoint reproduce --quick --again

docs: .venv/.docs           ## HTML pages in docs/_build
	$(BIN)/sphinx-build -W -q -b html docs docs/_build

clean:
	rm -rf .venv docs/_build .mypy_cache .ruff_cache .pytest_cache
