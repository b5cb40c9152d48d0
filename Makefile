# make explore            open the first notebook in JupyterLab; ARGS=--no-browser prints the address
# make test               every check; ARGS="lint tests notebooks browser" names some of them
# make lint               style and types only
# make notebooks          execute the notebooks again and save them tidy
# make pictures           make the README's pictures and the recording again, in Chromium
# make fuzz               read a hundred thousand spoilt recipes
# make clean              remove what these made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
ARGS ?=

.PHONY: explore test lint notebooks pictures fuzz clean

explore: $(VENV)/.lab-installed
	if [ -z "$$LSAT_MNIST" ] && [ -d ../shared/data/mnist ]; then export LSAT_MNIST="$(abspath ../shared/data/mnist)"; fi; \
	$(BIN)/lsat-explorer lab --in-place $(ARGS)

test: $(VENV)/.test-installed
	$(BIN)/python scripts/run_tests.py $(ARGS)

lint: $(VENV)/.test-installed
	$(BIN)/python scripts/run_tests.py lint

notebooks: $(VENV)/.test-installed
	$(BIN)/python scripts/execute_notebooks.py $(ARGS) && $(BIN)/python scripts/notebook_index.py

pictures: $(VENV)/.test-installed
	if [ -z "$$LSAT_MNIST" ] && [ -d ../shared/data/mnist ]; then export LSAT_MNIST="$(abspath ../shared/data/mnist)"; fi; \
	LSAT_PICTURES=write $(BIN)/python -m pytest tests/browser/test_pictures.py && $(BIN)/python scripts/record_live.py

fuzz: $(VENV)/.test-installed
	LSAT_FUZZ=125 $(BIN)/python -m pytest -q -s tests/test_recipe_fuzz.py

clean:
	rm -rf $(VENV) build dist tests/browser/artefacts .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# The stamps keep a second run from installing again; a change of the requirements makes them stale.
$(VENV)/.lab-installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[lab]'
	touch $@

$(VENV)/.test-installed: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[test]'
	touch $@ $(VENV)/.lab-installed
