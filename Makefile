# make explore            open the first notebook in JupyterLab; ARGS=--no-browser prints the address
# make test               every check; ARGS="lint tests interop notebooks browser" names some of them
# make lint               style and types only
# make interop            the solves for JAX and TensorFlow against torch's, in an environment of their own
# make lowest             the unit tests with the lowest versions that pyproject.toml allows
# make docs               the pages of the documentation, in build/docs
# make notebooks          execute the notebooks again and save them tidy
# make pictures           make the README's pictures and the recording again, in Chromium
# make soak               long runs, kills, a page that stops reading; their figures go into docs/reliability.md
# make fuzz               read spoilt recipes, tables and files at random; their figures too
# make clean              remove what these made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := -m pip install --disable-pip-version-check
INSTALL := $(BIN)/python $(PIP) -c constraints.txt
INTEROP := .venv-interop
LOWEST := .venv-lowest
LOWEST_TOOLS := build hatchling hypothesis packaging papermill polars pytest pytest-xdist pyyaml
# Old libraries warn of new ones. What is left out tests the tools, the release and the pages, in other versions.
NOT_LOWEST := -o filterwarnings=default -W ignore::DeprecationWarning --ignore=tests/browser \
  $(foreach name,docs interop scripts wheel,--ignore=tests/test_$(name).py) \
  --deselect=tests/test_project.py::test_the_constraints_pin_what_the_dependencies_need_in_turn
ARGS ?=

.PHONY: explore test lint interop lowest docs notebooks pictures soak fuzz clean

explore: $(VENV)/.lab-installed
	if [ -z "$$LSAT_MNIST" ] && [ -d ../shared/data/mnist ]; then export LSAT_MNIST="$(abspath ../shared/data/mnist)"; fi; \
	$(BIN)/lsat-explorer lab --in-place $(ARGS)

test: $(VENV)/.test-installed
	$(BIN)/python scripts/run_tests.py $(ARGS)

lint: $(VENV)/.test-installed
	$(BIN)/python scripts/run_tests.py lint

interop: $(INTEROP)/.installed
	$(INTEROP)/bin/python -m pytest -p no:cacheprovider tests/test_interop.py

lowest: $(LOWEST)/.installed
	$(LOWEST)/bin/python -m pytest -p no:cacheprovider -n 2 $(NOT_LOWEST) $(ARGS)

docs: $(VENV)/.test-installed
	$(BIN)/python scripts/build_docs.py build/docs

notebooks: $(VENV)/.test-installed
	$(BIN)/python scripts/execute_notebooks.py $(ARGS) && $(BIN)/python scripts/notebook_index.py

pictures: $(VENV)/.test-installed
	if [ -z "$$LSAT_MNIST" ] && [ -d ../shared/data/mnist ]; then export LSAT_MNIST="$(abspath ../shared/data/mnist)"; fi; \
	LSAT_PICTURES=write $(BIN)/python -m pytest tests/browser/test_pictures.py && $(BIN)/python scripts/record_live.py

soak: $(VENV)/.test-installed
	$(BIN)/python scripts/reliability.py soak

fuzz: $(VENV)/.test-installed
	$(BIN)/python scripts/reliability.py fuzz

clean:
	rm -rf $(VENV) $(INTEROP) $(LOWEST) build dist tests/browser/artefacts .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python $(INTEROP)/bin/python $(LOWEST)/bin/python:
	$(PYTHON) -m venv $(@D:/bin=) || { rm -rf $(@D:/bin=); exit 1; }

# The stamps keep a second run from installing again; a change of the requirements makes them stale.
$(VENV)/.lab-installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[lab]'
	touch $@

$(VENV)/.test-installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[test]'
	touch $@ $(VENV)/.lab-installed

# pip names what has no build for this Python, and the line after it says what can be left out.
$(INTEROP)/.installed: pyproject.toml constraints.txt requirements-interop.txt | $(INTEROP)/bin/python
	$(INTEROP)/bin/python $(PIP) -c constraints.txt -e . -r requirements-interop.txt || { \
	  echo 'JAX and TensorFlow could not be installed, see above; the other checks: make test ARGS="lint tests notebooks browser"'; exit 1; }
	touch $@

$(LOWEST)/.installed: pyproject.toml constraints-lowest.txt | $(LOWEST)/bin/python
	$(LOWEST)/bin/python $(PIP) -c constraints-lowest.txt -e '.[bench,dask,lab,onnx,scale]' $(LOWEST_TOOLS)
	touch $@
