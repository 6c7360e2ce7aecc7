PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
APP := $(VENV)/.ready
DEV := $(VENV)/.ready-dev
# Two processes share the cores, so each has one.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal
# ESLint needs Node.js, the app does not.
NODE := $(shell command -v npm >/dev/null && node --print 'parseInt(process.versions.node) >= 20 || ""' 2>/dev/null)
ESLINT := $(if $(NODE),node_modules/.bin/eslint .,@echo 'No Node.js 20 or newer here: the browser scripts were not linted.')
# Idle threads that spin take the cores from each other: thirty times slower on a busy machine.
export OMP_WAIT_POLICY ?= PASSIVE
# Without kept bytecode every process of the tests compiles the app and the tests anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: app check test test-all lint format bench gpu gpu-wheels studies licences release pictures sample clean

app: $(APP)
	@echo 'Loupe opens in your browser, at http://127.0.0.1:8501 if that is free.'
	$(BIN)/python -m streamlit run app.py

# What decides about parts: reading all the other tests in takes as long as running these.
CHECKED := $(addprefix tests/,scoring detectors line test_verdict.py test_inspection.py test_layers.py)
check: lint
	$(PYTEST) -m 'not slow' $(CHECKED)

test: lint
	$(PYTEST) -m 'not rest'

test-all: test
	$(PYTEST) -m rest

lint: $(DEV) $(if $(NODE),node_modules/.ready)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ty check
	$(ESLINT)

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV)
	$(BIN)/python -m benchmarks

gpu: $(APP)
	$(BIN)/python -m benchmarks.gpu

gpu-wheels: $(APP)
	$(BIN)/python -m benchmarks.gpu.wheels

studies: $(DEV)
	$(BIN)/python -m benchmarks.studies

licences: $(DEV)
	$(BIN)/python -m benchmarks.licences

release: $(DEV)
	$(BIN)/python -m benchmarks.release

pictures: $(DEV)
	$(BIN)/python -m docs.pictures.make

sample: $(APP)
	$(BIN)/python -m inspect_core synthetic

$(APP): requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements.txt
	touch $@

$(DEV): $(APP) requirements-dev.txt requirements-cluster.txt requirements-station.txt
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements-dev.txt
	touch $@

node_modules/.ready: package.json package-lock.json
	npm ci --silent --no-audit --no-fund
	touch $@

clean:
	rm -rf $(VENV) node_modules
