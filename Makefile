# Two commands for people: `make demo` and `make test`. Both set up .venv the first time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test lint setup clean

help:
	@echo "make demo    a short story: memories asked, explained, looked back on, forgotten"
	@echo "make test    lint, types, import directions, tests"
	@echo "make lint    the same without the tests"
	@echo "make clean   removes .venv and all caches"

demo: $(READY)
	@$(BIN)/remanence demo

test: lint
	@echo "== tests"
	@$(BIN)/python -m pytest tests src integrations

lint: $(READY)
	@echo "== lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== types"
	@$(BIN)/mypy
	@echo "== import directions"
	@$(BIN)/lint-imports

setup: $(READY)

# uv where there is one, else pip (which learned --group in 25.1). Done again only when pyproject.toml changes.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Python 3.10 or later is needed: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; exit 1; }
	@if command -v uv >/dev/null 2>&1; then \
		echo "setting up $(VENV) with uv (once)"; \
		uv venv --quiet --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV) && \
		uv pip install --quiet --python $(BIN)/python --group dev -e . ; \
	else \
		echo "setting up $(VENV) with pip (once; it takes a minute or two)"; \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1" && \
		$(BIN)/python -m pip install --quiet --group dev -e . ; \
	fi
	@touch $(READY)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
