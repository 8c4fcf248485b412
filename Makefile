# On a fresh machine `make demo` and `make test` do everything: each target sets up what it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q -n auto --dist loadgroup

# OpenBLAS picks its loops by processor, and can be told to take those of another one that this machine can run.
able = $(if $(shell grep -m1 -ow $(1) /proc/cpuinfo 2>/dev/null),$(2))
PROCESSORS ?= Prescott Nehalem $(call able,avx,Sandybridge) $(call able,avx2,Haswell Zen) $(call able,avx512f,SkylakeX)
FEW_PROCESSORS ?= Prescott $(call able,avx,Sandybridge) $(call able,avx2,Haswell)

# Runs the tests as every processor of a list, then fails with the names of those that failed.
define as_each
	failed=""; for core in $(1); do echo "== as $$core"; \
	OPENBLAS_CORETYPE=$$core OMP_NUM_THREADS=1 $(PYTEST) $(2) || failed="$$failed $$core"; done; \
	test -z "$$failed" || { echo "failed as$$failed"; exit 1; }
endef

# The lowest versions that pyproject.toml promises, in an environment of their own.
LOWEST := numpy==1.26.* scipy==1.15.* scikit-learn==1.6.* numba==0.60.* joblib==1.3.* threadpoolctl==3.1.* click==8.1.* pytest==8.*

.PHONY: demo test test-slow test-browser test-processors test-processors-quick test-lowest lint types bench experiments experiments-quick docs mutants soak clean

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
	OMP_NUM_THREADS=1 $(PYTEST)

test-processors: .venv/.dev  ## the tests as on each of several processors
	@$(call as_each,$(PROCESSORS),)

test-processors-quick: .venv/.dev  ## as on three others, the tests that look at bits, gaps and numbers of iterations
	@$(call as_each,$(FEW_PROCESSORS),-m 'processor and not slow' tests)

.venv/lowest/.ready: pyproject.toml
	$(PYTHON) -m venv .venv/lowest
	.venv/lowest/bin/python -m pip install --quiet --editable . $(LOWEST) clarabel cvxpy hypothesis matplotlib "pandas<3" pytest-xdist
	touch $@

# Dask, ray, arviz and a witness (cvxpy) need newer versions: left out here. Tests skip themselves where scipy's orthants
# take no seed, and where arviz or skl2onnx is missing.
test-lowest: .venv/lowest/.ready  ## the tests with the lowest versions of what the package needs
	OMP_NUM_THREADS=1 .venv/lowest/bin/python -m pytest -q -n auto --dist loadgroup tests --ignore tests/cluster \
	--ignore tests/experiments --ignore tests/test_benchmarks.py --ignore tests/test_diagnostics.py --ignore tests/test_examples.py \
	-k "not conic_solver"

test-slow: .venv/.dev       ## slow statistical and experiment tests
	$(BIN)/python -m pytest -q -m slow

mutants: .venv/.dev         ## wrong changes of the core modules, one at a time, that the fast tests must notice
	$(BIN)/python tests/mutants/run.py --number $(or $(MUTANTS),200)

soak: .venv/.dev            ## hours of hostile input, faults and long runs, and docs/reliability.md; MINUTES for each script
	$(BIN)/python tests/soak/run.py --minutes $(or $(MINUTES),10)

test-browser: .venv/.dev    ## the pages in a real browser; gets one where it may, and says so where there is none
	command -v chromedriver >/dev/null || (apt-get -qq update && apt-get -qq install -y chromium chromium-driver) || true
	$(BIN)/python -m pytest -q -rs -m slow tests/browser

lint: .venv/.dev            ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.bench         ## speed as ratios of two programs in one run, one BLAS thread for all; MISSING=1 goes on
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/run.py $(if $(MISSING),--missing)
	$(BIN)/python experiments/page.py

experiments: .venv/.dev     ## every table and figure of the papers; goes on where it was stopped
	$(BIN)/bayespoint reproduce

experiments-quick: .venv/.dev  ## the same in a size that only shows that everything runs
	$(BIN)/bayespoint reproduce --quick --again

docs: .venv/.docs           ## HTML pages in docs/_build
	rm -rf docs/api docs/gallery  # pages of what is no longer there
	$(BIN)/sphinx-build -W -q -b html docs docs/_build

clean:
	rm -rf .venv docs/_build .mypy_cache .ruff_cache .pytest_cache
