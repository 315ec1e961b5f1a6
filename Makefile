# All that a person or CI needs, from a fresh clone, with python3 (3.11 or later), git and make.
#
# Every target that needs the tools builds .venv from requirements/*.lock first. A stamp file makes
# the second run instant; a changed lock, pyproject.toml or bootstrap script rebuilds.

PYTHON ?=
JOBS   ?= auto
ARGS   ?=
PARITY ?=

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
BENCH  := .venv-bench
UV     ?= $(BIN)/uv

.DEFAULT_GOAL := help
.PHONY: FORCE help setup demo test lint check bench prove torture lock clean

help:  ## Show this text
	@printf 'remit: one ledger, one queue and one lifecycle for work whose outcome matters\n\n'
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@printf '\n  PYTHON=/path/to/python   interpreter to build .venv with (3.11 or later)\n'
	@printf '  JOBS=N                   test processes (default: one a core)\n'
	@printf '  ARGS="..."               more arguments for pytest, demo or bench\n'

setup: $(STAMP)  ## Build .venv from the lock files

# An interpreter named by hand is looked at each time; it may be another than the one before.
ifneq ($(PYTHON),)
$(STAMP): FORCE
endif

$(STAMP): requirements/build.lock requirements/dev.lock requirements/run.lock pyproject.toml tools/bootstrap
	@PYTHON='$(PYTHON)' tools/bootstrap $(VENV)
	@touch $@

demo: $(STAMP)  ## Walk through the whole lifecycle, offline
	@$(BIN)/remit demo $(ARGS)

test: $(STAMP)  ## Run the tests (all but the long forms)
	$(BIN)/pytest -n $(JOBS) $(ARGS)

lint: $(STAMP)  ## Format, lint, types and import rules, without the tests
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

check: lint test  ## Lint, then test: what CI runs, before prove

# The other queues have an environment of their own: nothing else here may come to need them.
$(BENCH)/.ready: requirements/build.lock requirements/bench.lock pyproject.toml tools/bootstrap
	@PYTHON='$(PYTHON)' tools/bootstrap $(BENCH) build bench
	@touch $@

bench: $(BENCH)/.ready  ## Measure this machine, beside other queues
	@$(BENCH)/bin/remit bench $(ARGS)

prove: $(STAMP)  ## Drain and work by hand, explore small worlds, plant faults (minutes)
	@$(BIN)/remit prove parity $(PARITY)
	@$(BIN)/remit prove model --mutants $(ARGS)

torture: $(STAMP)  ## Run the long forms of the tests (minutes)
	@echo 'torture: tests marked "torture", one at a time'
	$(BIN)/pytest -m torture -v $(ARGS)

# The lock files hold names, versions and hashes only, so that any index may serve them. Pinned
# versions stay as they are; `make lock ARGS=--upgrade` moves them all.
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
          --no-annotate --no-header $(ARGS)

lock: $(STAMP)  ## Make requirements/*.lock again
	$(COMPILE) pyproject.toml -o requirements/run.lock
	$(COMPILE) pyproject.toml --extra dev -c requirements/run.lock -o requirements/dev.lock
	$(COMPILE) pyproject.toml --extra bench -c requirements/dev.lock -o requirements/bench.lock
	$(COMPILE) requirements/build.in -c requirements/dev.lock -o requirements/build.lock

clean:  ## Remove .venv, caches and build results
	rm -rf $(VENV) $(BENCH) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
