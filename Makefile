# Two commands for people: `make demo` and `make test`. Both set up .venv the first time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# There are at least as many processes as cores: a second thread of numpy in each would only wait.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
ALL_CORES := -n auto --dist worksteal

# The tests start hundreds of processes. Without files of bytecode each of them compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

# The parts of the tests. Each is one process, which imports only what its tests need; as many run at once as there are
# cores, and one more, as the first two often wait for processes that they start.
BROWSER_TESTS := tests/inspector/ tests/test_notebooks.py
PROCESS_TESTS := tests/mcp_server/ $(wildcard tests/test_cli*.py) $(patsubst %,tests/test_%.py,\
	shared_qdrant postgres processes migration crash load parallel_extraction encryption)
FRAMEWORK_TESTS := $(filter-out $(BROWSER_TESTS) $(PROCESS_TESTS) %__pycache__/,$(wildcard tests/*/)) \
	tests/test_memory_files.py integrations
CORE_TESTS := $(filter-out $(BROWSER_TESTS) $(PROCESS_TESTS) $(FRAMEWORK_TESTS),$(wildcard tests/test_*.py))
JOBS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# What parts print is not mixed, where make can keep it apart (from version 4.0 on): it appears when a part has ended.
BESIDE := $(MAKE) --no-print-directory -k -j$(JOBS) $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)
PARTS := browser-tests process-tests framework-tests core-tests-1 core-tests-2 core-tests-3

.PHONY: help demo test tests quick coverage lint docs setup lock clean $(PARTS)

help:
	@echo "make demo    a short story: memories asked, explained, looked back on, forgotten"
	@echo "make test    lint, types, import directions, documentation, tests"
	@echo "make tests   the tests only"
	@echo "make quick   lint and the fast tests, for the inner loop"
	@echo "make lint    lint, types and import directions only"
	@echo "make docs    builds the documentation into site/"
	@echo "make coverage  which lines the tests run; details in htmlcov/"
	@echo "make lock    pins the packages for development in requirements-dev.txt (needs uv)"
	@echo "make clean   removes .venv and all caches"

demo: $(READY)
	@$(BIN)/remanence demo

test: $(READY)
	@$(BESIDE) $(PARTS) lint docs

tests: $(READY)
	@$(BESIDE) $(PARTS)

browser-tests: $(READY)
	@echo "== $@"
	@$(PYTEST) $(BROWSER_TESTS)

process-tests: $(READY)
	@echo "== $@"
	@$(PYTEST) $(PROCESS_TESTS)

framework-tests: $(READY)
	@echo "== $@"
	@$(PYTEST) $(FRAMEWORK_TESTS)

core-tests-1: $(READY)
	@echo "== $@"
	@$(PYTEST) $(filter $(wildcard tests/test_[a-h]*),$(CORE_TESTS))

core-tests-2: $(READY)
	@echo "== $@"
	@$(PYTEST) $(filter $(wildcard tests/test_[i-r]*),$(CORE_TESTS)) src

core-tests-3: $(READY)
	@echo "== $@"
	@$(PYTEST) $(filter $(wildcard tests/test_[s-z]*),$(CORE_TESTS))

# Without the tests marked `slow` and the docstrings.
quick: $(READY)
	@$(BIN)/ruff check .
	@$(PYTEST) $(ALL_CORES) -m "not slow" tests

coverage: $(READY)
	@$(PYTEST) $(ALL_CORES) -p pytest_cov --cov --cov-report=term:skip-covered --cov-report=html tests src integrations

docs: $(READY)
	@echo "== documentation"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lint: $(READY)
	@echo "== lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== types"
	@$(BIN)/mypy
	@echo "== import directions"
	@$(BIN)/lint-imports

setup: $(READY)

# uv where there is one, else pip (which learned --group in 25.1). Done again only when pyproject.toml changes. uv copies
# files: nltk, which LlamaIndex splits sentences with, refuses files with several hard links.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Python 3.10 or later is needed: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; exit 1; }
	@if command -v uv >/dev/null 2>&1; then \
		echo "setting up $(VENV) with uv (once)"; \
		uv venv --quiet --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV) && \
		uv pip install --quiet --link-mode=copy --python $(BIN)/python --group dev -e . ; \
	else \
		echo "setting up $(VENV) with pip (once; it takes a minute or two)"; \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1" && \
		$(BIN)/python -m pip install --quiet --group dev -e . ; \
	fi
	@touch $(READY)

# Pins of all packages for development. The line by which the dev group names this package itself is left out: a registry
# may have another package of that name.
lock:
	@mkdir -p .lock && sed '/"remanence-memory\[/d' pyproject.toml > .lock/pyproject.toml
	@uv pip compile --quiet --no-python-downloads --universal --python-version 3.10 --all-extras \
		--group .lock/pyproject.toml:dev --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		-o .lock/requirements.txt .lock/pyproject.toml
	@{ echo "# The versions of all packages for development, for Python 3.10 and later. Written by \`make lock\`."; \
		cat .lock/requirements.txt; } > requirements-dev.txt
	@rm -rf .lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache site htmlcov .coverage
