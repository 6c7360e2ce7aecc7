PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Idle threads that spin take the cores from each other: thirty times slower on a busy machine.
export OMP_WAIT_POLICY ?= PASSIVE
# NumPy's products here are small: a second thread costs more than it brings.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: app test bench sample lint clean

app: $(READY)
	@echo 'Loupe opens in your browser, at http://127.0.0.1:8501 if that is free.'
	$(BIN)/python -m streamlit run app.py

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest

bench: $(READY)
	$(BIN)/python -m benchmarks

sample: $(READY)
	$(BIN)/python -m inspect_core.images.synthetic

lint: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -q -r requirements.txt
	touch $(READY)

clean:
	rm -rf $(VENV)
