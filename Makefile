# gnnlab: `make` lists what there is. Everything is installed into .venv, once; `make clean` removes it.

# The Python that makes .venv: 3.11 or later.
PYTHON ?= python3
# Where torch comes from: PyTorch's CPU wheels, as those on PyPI are for CUDA and gigabytes in size.
# If it can't be reached, or with TORCH_INDEX= (empty), pip's own configuration decides.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# 0: do without torch-scatter and torch-sparse; what needs them is skipped.
TORCH_SPARSE ?= 1
# The beginnings of notebooks' names, such as `02` or `02 03`; empty: all.
NOTEBOOK ?=
# Options of JupyterLab, such as `--no-browser --port 8889`. As root, in a container, it asks for one.
LAB ?= $(if $(filter 0,$(shell id -u)),--allow-root)
# The experiment that `make bench` runs.
BENCH ?= all

BIN := .venv/bin
# Doubly quiet: errors only.
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
ONLY = $(if $(strip $(NOTEBOOK)),--only $(NOTEBOOK))
NOTEBOOKS = $(if $(strip $(NOTEBOOK)),$(NOTEBOOK:%=notebooks/%*.ipynb),notebooks)

.PHONY: help demo test lab notebooks bench clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	@echo 'make demo         install, run the notebooks at their quick size, write build/report/index.html'
	@echo 'make lab          install, open JupyterLab on notebooks/'
	@echo 'make notebooks    run the notebooks at full size and write their outputs into the files'
	@echo 'make test         install all that the tests use; run style, layers, types, tests, notebooks'
	@echo 'make bench        run the experiments behind the notebooks (BENCH=name for one)'
	@echo 'make clean        remove .venv, build/ and caches'
	@echo
	@echo 'NOTEBOOK=02       restricts demo, notebooks and test to the notebooks whose names begin so'
	@echo 'TORCH_SPARSE=0    test without torch-sparse, which takes minutes to compile'
	@echo 'TORCH_INDEX=URL   take torch from there; empty: from where pip is set up to look'
	@echo 'PYTHON=python3.12 make .venv with this Python'

demo: .venv/.demo
	@echo '== Running the notebooks at their quick size: up to 15 s each'
	@$(BIN)/python -m gnnlab.bench notebooks --size quick --report build/report $(ONLY)

lab: .venv/.demo
	@echo '== Opening JupyterLab; stop it with Ctrl-C'
	@$(BIN)/jupyter lab $(LAB) notebooks

notebooks: .venv/.demo
	@echo '== Running the notebooks at full size: minutes each; their outputs go into the files'
	@$(BIN)/python -m gnnlab.bench notebooks --size full --write --report build/report $(ONLY)

test: .venv/.dev $(if $(filter-out 0,$(TORCH_SPARSE)),.venv/.torch-sparse)
	@echo '== Style'
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@echo '== Layers'
	@$(BIN)/lint-imports --no-logo
	@echo '== Types: about a minute the first time'
	@$(BIN)/mypy
	@echo '== Tests: some minutes'
	@$(BIN)/python -m pytest --cov
	@echo '== Notebooks at their quick size: up to 15 s each'
	@$(BIN)/python -m pytest --nbmake $(NOTEBOOKS)

bench: .venv/.demo
	@echo '== Running the experiments: minutes'
	@$(BIN)/python -m gnnlab.bench $(BENCH)

clean:
	rm -rf .venv build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What follows installs. Each step leaves an empty file in .venv, so that it is done once.

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "gnnlab needs Python 3.11 or later; found $$($(PYTHON) --version 2>&1)."; \
	  echo 'Name another one: make PYTHON=python3.12'; exit 1; }
	@echo '== Making .venv'
	@$(PYTHON) -m venv .venv
	@touch $@

# A wheel index answers or it doesn't, within five seconds (the alarm also ends a slow name lookup).
REACHED = ( $(PYTHON) -c 'import signal, sys, urllib.request as r; signal.alarm(5); \
  r.urlopen(sys.argv[1] + "/torch/", timeout=4)' '$(TORCH_INDEX)' ) 2>/dev/null

.venv/.torch: .venv/.made constraints.txt
	@if [ -n '$(TORCH_INDEX)' ] && $(REACHED); then \
	  echo '== Installing torch for the CPU (200 MB): about a minute'; \
	  $(INSTALL) --no-deps --index-url '$(TORCH_INDEX)' torch; \
	else \
	  echo '== Installing torch from where pip is set up to look: a minute, or some if it is for CUDA'; \
	  $(INSTALL) --no-deps torch; \
	fi
	@touch $@

.venv/.demo: .venv/.torch pyproject.toml
	@echo '== Installing gnnlab and what the notebooks use: about a minute'
	@$(INSTALL) --editable '.[notebooks,bench]'
	@touch $@

.venv/.dev: .venv/.demo
	@echo '== Installing what the checks use, Triton (200 MB) among it: half a minute'
	@$(INSTALL) --editable '.[notebooks,bench,partition,gpu,stores,dev]'
	@touch $@

# Both at once, as each compiles on one core. pip keeps the wheels, so that the next time is short.
.venv/.torch-sparse: .venv/.dev
	@echo '== Building torch-scatter and torch-sparse: about 9 minutes on two cores, seconds if pip'
	@echo '   has kept the wheels. `make test TORCH_SPARSE=0` goes without them.'
	@$(INSTALL) setuptools wheel
	@rm -rf build/wheels && mkdir -p build
	@jobs=; for name in torch-scatter torch-sparse; do \
	  ( $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --constraint constraints.txt \
	      --no-build-isolation --no-deps --wheel-dir build/wheels $$name >build/$$name.log 2>&1 \
	    && echo "   $$name is built" ) & jobs="$$jobs $$!"; \
	done; \
	built=yes; for job in $$jobs; do wait $$job || built=no; done; \
	[ $$built = yes ] \
	  && $(INSTALL) --no-deps --no-index --find-links build/wheels torch-scatter torch-sparse \
	  && $(BIN)/python -c 'import torch_scatter, torch_sparse' || { \
	  echo 'torch-scatter and torch-sparse could not be built or imported: see build/torch-*.log'; \
	  echo 'They need a C++ compiler and the headers of Python. If pip kept wheels made for another torch,'; \
	  echo '$(BIN)/python -m pip cache remove "torch_s*" drops them.'; \
	  echo 'To do without them: make test TORCH_SPARSE=0'; \
	  exit 1; }
	@touch $@
