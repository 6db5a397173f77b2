# Everything starts here; `make` alone lists what there is.

PYTHON ?= python3
PORT ?= 8000
# For instance PARAMETERS="-p rounds 50", to execute the notebooks at another scale.
PARAMETERS ?=

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TESTED := $(wildcard fedlab_core fedlab_use fedlab_flower fedlab_ledger fedlab_browser \
	fedlab_book tools tests benchmarks \
	notebooks)

# Compiled modules are kept, or every process compiles all packages and tests anew.
export PYTHONDONTWRITEBYTECODE :=

BEGUN := $(shell date +%s)

# One thread a process: tensors in tests are tiny, and cores are for other tests.
ONE := OMP_NUM_THREADS=1
PYTEST1 := $(ONE) $(BIN)/python -m pytest -q -p no:nbval
PYTEST := $(PYTEST1) -n auto --maxprocesses 4
core_TESTS := $(addprefix tests/,client data engine flower methods metrics models \
	partition reference rounds) $(addprefix tests/test_,architecture.py citations.py keys.py \
	main.py process.py reading.py streams.py surface.py surface_line.py tree.py)
ledger_TESTS := tests/ledger tests/papers tests/test_agreement.py
book_TESTS := $(filter-out $(core_TESTS) $(ledger_TESTS) tests/__pycache__, \
	$(patsubst %/,%,$(wildcard tests/*/)) $(wildcard tests/test_*.py))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help book check test lane style serve lab wheel bench lock clean executed assets quick \
	quick-core quick-more \
	printed course deployed

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' \
		$(MAKEFILE_LIST)

book: executed assets ## build the book into _build/html
	@echo "== Site"
	@$(ONE) $(BIN)/python -m tools.build
	@echo "The book is at _build/html/index.html; 'make serve' shows it in a browser."

check: $(READY) ## style, types, spelling, and tests without book or browser
	@$(MAKE) --no-print-directory -j3 style quick; code=$$?; \
		echo "== Checked in $$(( $$(date +%s) - $(BEGUN) )) s"; exit $$code

# Two halves of one process each: each collects its own files alone.
QUICK := $(PYTEST1) --hypothesis-profile quick -m "not slow and not built and not browser"
quick: quick-core quick-more

quick-core: $(READY)
	@$(QUICK) $(core_TESTS)

quick-more: $(READY)
	@$(QUICK) $(ledger_TESTS) $(book_TESTS)

test: style ## check everything: style, types, core, ledger, notebooks, site
	@for lane in core ledger book; do \
		$(MAKE) --no-print-directory lane LANE=$$lane || exit; done

lane: $(READY) ## every test of one LANE: core, ledger or book
	@test -n "$($(LANE)_TESTS)" || { \
		echo "error: LANE=$(LANE): core, ledger or book" >&2; exit 2; }
	@if [ $(LANE) = book ]; then $(MAKE) --no-print-directory printed book; fi
	@echo "== Tests: $(LANE)"
	@$(PYTEST) -m "not deployed" $($(LANE)_TESTS)

deployed: $(READY) ## test methods on Flower's own processes, over TLS
	@echo "== Tests: deployed"
	@$(ONE) $(BIN)/python -m pytest -q -p no:nbval -m deployed -o faulthandler_timeout=2400 tests/flower

printed: $(READY)
	@echo "== Printed values of notebooks"
	@FEDLAB_PROGRESS=0 $(ONE) $(BIN)/python -m pytest -q --nbval-lax \
		$$(grep -l nbval-check-output notebooks/*.ipynb)

style: $(READY) ## layout, types and spelling
	@echo "== Style"
	@$(BIN)/ruff check $(TESTED)
	@$(BIN)/ruff format --check $(TESTED)
	@echo "== Types"
	@$(BIN)/pyright
	@echo "== Spelling"
	@$(BIN)/codespell

serve: ## serve _build/html on PORT (8000)
	@test -d _build/html || { echo "error: no book yet; run 'make book'" >&2; exit 2; }
	@echo "http://localhost:$(PORT)  (stop with Ctrl-C)"
	@$(PYTHON) -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

lab: $(READY) ## open the notebooks in JupyterLab
	@$(BIN)/jupyter lab --notebook-dir notebooks \
		$(if $(filter 0,$(shell id -u)),--allow-root)

course: $(READY) ## write copies for students, keys and lab sheets into _build/course
	@$(BIN)/python -m tools.course

wheel: $(READY) ## build the packages into _build/dist
	@rm -rf build _build/dist
	@$(BIN)/python -m pip wheel --quiet --no-deps \
		--wheel-dir _build/dist .
	@rm -rf build
	@ls _build/dist/*.whl

bench: $(READY) ## measure our speed against others' (a quarter of an hour)
	@$(BIN)/python -m benchmarks

lock: $(READY) ## write requirements.lock from .venv
	@$(BIN)/python -m tools.lock

clean: ## remove everything built; the environment in .venv stays
	rm -rf _build

executed: $(READY)
	@echo "== Notebooks"
	@$(BIN)/python -m tools.execute $(PARAMETERS)

assets: $(READY)
	@$(BIN)/python -m tools.assets

# The environment is made anew when what it consists of has changed.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "error: Python 3.11 or newer is needed; '$(PYTHON)' is not one." \
			"Try: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
		echo "error: '$(PYTHON)' has no venv module." \
			"On Debian or Ubuntu: apt install python3-venv" >&2; exit 2; }
	@echo "== Environment in $(VENV) (a few minutes, once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		-r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-deps --editable .
	@touch $@
