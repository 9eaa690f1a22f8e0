# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test lint bench clean
.DEFAULT_GOAL := help

help: ## Show the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.venv/.installed: pyproject.toml requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("tracehouse needs Python 3.11 or newer: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: .venv/.installed ## Ingest the real multi-build dumps that ship with the project and query them
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tests/data/demo.sh

test: .venv/.installed ## Run the tests
	$(BIN)/python -m pytest

lint: .venv/.installed ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.installed ## Measure decode, ingest and queries (reports, never gates)
	$(BIN)/python -m tests.benchmarks.run

clean: ## Remove the environment and caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache *.egg-info build dist
