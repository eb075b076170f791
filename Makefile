# Whatever a command needs, it installs itself: Python packages into .venv, everything big into
# $REHEARSAL_CACHE (default ~/.cache/maxtext-sft), built once and shared by checkouts.

STACK ?= rehearsal
# KEEP=1 leaves the demo's cloud up, to be looked at with `eval "$$(make -s env)"`.
KEEP ?=

PYTHON ?= $(shell for python in python3 python3.12 python3.11 python3.13 python3.14; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)
RUN = .venv/bin/python
UNIT_TESTS = $(RUN) -m pytest -q -n 2 --dist worksteal -m "not rehearsal and not maxtext"

# A test that hangs fails with its stack; the longest real one takes a quarter of this.
TEST_SECONDS = 600

.PHONY: demo test test-full check env bench setup clean clean-cache venv

# The guide's whole run on this machine: up, what it left, destroy. STACK=rehearsal-guide for v6e-32.
demo: venv
	$(RUN) -m rehearsal.setup --stack $(STACK)
	$(RUN) -m rehearsal demo --stack $(STACK) $(if $(KEEP),--keep)

# Unit tests on both cores, then end-to-end tests on the real engine and control plane; the longest
# of these run in `test-full` only.
test: venv
	$(RUN) -m rehearsal.setup --stack rehearsal-guide
	$(UNIT_TESTS)
	$(RUN) -m pytest -m "rehearsal and not nightly" --timeout $(TEST_SECONDS)

# All end-to-end tests with Pulumi's own Kubernetes plugin, and those of the real MaxText.
test-full: venv
	$(RUN) -m rehearsal.setup --kubernetes-plugin
	REHEARSAL_KUBERNETES=real $(RUN) -m pytest -m "rehearsal or maxtext" --timeout $(TEST_SECONDS)

# Format, lint, types and the fast tests: what a change passes before it is committed.
check: venv
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(UNIT_TESTS)

# Print the exports for plain `pulumi` and `kubectl`: eval "$(make -s env)"
env: venv
	@$(RUN) -m rehearsal.setup --stack $(STACK) >&2
	@$(RUN) -m rehearsal env --stack $(STACK)

# The figures of docs/performance.md.
bench: setup
	$(RUN) -m rehearsal.bench

# Everything that the other commands would install.
setup: venv
	$(RUN) -m rehearsal.setup

venv:
	@$(or $(PYTHON),$(error no Python 3.11 or newer on PATH: install one, or name it with PYTHON=))\
	 rehearsal/virtualenv.py

# End this checkout's local cloud and remove what the commands made in the tree, not the cache.
clean:
	@if [ -d .rehearsal ] && [ -x $(RUN) ]; then REHEARSAL_HOME= $(RUN) -m rehearsal down; fi
	rm -rf .rehearsal .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
	@echo "built tools stay in $${REHEARSAL_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/maxtext-sft};" \
	 "\`make clean-cache\` removes them"

# Remove the built tools and MaxText's environment, for every checkout.
clean-cache:
	rm -rf "$${REHEARSAL_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/maxtext-sft}"
