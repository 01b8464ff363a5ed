# Every target goes through bootstrap.py, which installs what is missing into .venv first.
.DEFAULT_GOAL := help
PYTHON ?= python3
BOOT := $(PYTHON) bootstrap.py

.PHONY: help demo setup check fix test soak bench pins build clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

demo: ## Install what is needed and show Fabric at work
	@$(BOOT) demo

setup: ## Make .venv with everything for development
	@$(BOOT) setup

check: ## Everything that must be green: format, lint, layers, types, tests
	@$(BOOT) check

fix: ## Format, and mend what the linter can mend
	@$(BOOT) run ruff format .
	@$(BOOT) run ruff check --fix .

test: ## The tests alone
	@$(BOOT) run pytest

soak: ## The long laws, fuzz and fault runs
	@$(BOOT) run pytest -m slow

bench: ## Benchmarks against baselines of the same run
	@$(BOOT) run python benchmarks/run.py

pins: ## Pin the newest allowed versions again, with hashes
	@$(BOOT) run uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links --python-version 3.11 pyproject.toml pins.in -o constraints.txt
	@$(BOOT) run uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links --python-version 3.11 --group dev --all-extras pyproject.toml -o constraints-dev.txt

build: ## Wheel and source archive in dist/
	@$(BOOT) run python -m build --no-isolation

clean: ## Remove what was built
	rm -rf build dist .venv
