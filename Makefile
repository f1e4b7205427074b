# Everything a fresh machine needs is Python 3.11 (or newer) and make; each target sets up the rest.

VENV := .venv
BIN := $(VENV)/bin
# Flags for JupyterLab: make lab LAB_FLAGS="--no-browser --port 9999"
LAB_FLAGS ?=
# Flags for pytest: make test TEST_FLAGS="tests/test_trace.py -k save"
TEST_FLAGS ?=
# How many bad inputs to draw, and flags: make fuzz N=300 FUZZ_FLAGS="--seed 7 --door text --write"
N ?= 1000
FUZZ_FLAGS ?=
# Which mutants are drawn, and how many: make mutants SEED=7 MUTANTS=50
SEED ?= 1
MUTANTS ?= 200
# Parts of the weekly suite (tools/weekly.py): make test-weekly PARTS="tests mutants"
PARTS ?=
# How many files of tests run at a time, each worker with a browser and a JupyterLab of its own.
TEST_WORKERS ?= 2
# The Pythons whose ends of the ranges in pyproject.toml are tested; uv finds or downloads them.
LOWEST_PYTHON ?= 3.11
NEWEST_PYTHON ?= 3.13
# What `make lock` holds while everything else moves to its newest version: from 4.25 on, jsonschema
# parses a grammar at its import, which costs each start of JupyterLab more than two seconds.
LOCK_WITH ?= "torch==2.13.0" "jsonschema<4.25"
# `make lock LOCK_FLAGS=` moves nothing and only adds or drops what pyproject.toml does.
LOCK_FLAGS ?= --upgrade

# Python keeps what it compiles, also where a shell's or a container's settings say that it should not:
# the tests start a hundred processes, and each would compile again what it imports.
export PYTHONDONTWRITEBYTECODE :=

biome = $(BIN)/node node_modules/@biomejs/biome/bin/biome
pytest = $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help lab dev site docs test test-slow test-weekly test-lowest test-newest mutants lint format bench
.PHONY: views real fuzz picture lock dist clean lint-style lint-types lint-scripts

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 20

lab: $(VENV)/.ready-lab views ## open JupyterLab on the first lesson
	exec $(BIN)/viz-transformer lab $(LAB_FLAGS)

dev: export VIZ_TRANSFORMER_DEV = 1
dev: $(VENV)/.ready-dev views ## JupyterLab in which an edited script or style sheet shows in the open view
	exec $(BIN)/viz-transformer lab $(LAB_FLAGS)

site: $(VENV)/.ready-lab views ## write all lessons as offline pages, views alive, into build/site
	$(BIN)/viz-transformer site build/site

docs: $(VENV)/.ready-docs build/site/index.html ## write the documentation, course and API included, into build/docs
	$(BIN)/python -m tools.docs_gallery
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Those whose sources have changed, say after a `git pull`; a set-up has built the others.
views:
	@$(BIN)/python -m tools.bundles

test: lint $(VENV)/.ready-test ## lint, then the tests, those in real browsers too
	$(BIN)/python -m tools.ensure chromium firefox
	$(pytest) -m "not slow and not weekly and not real" $(TEST_FLAGS)

test-slow: $(VENV)/.ready-slow ## every view in JupyterLab, saved notebooks, Firefox
	$(BIN)/python -m tools.ensure chromium firefox
	$(pytest) -m slow $(TEST_FLAGS)

test-weekly: $(VENV)/.ready-slow $(BIN)/configurable-http-proxy build/hosts/.ready ## trainings, whole sweeps, other hosts, both ends of the versions, mutants
	$(BIN)/python -m tools.ensure chromium firefox
	$(BIN)/python -m tools.weekly $(PARTS)

real: $(VENV)/.ready-test ## fetch two pretrained models (180 MB), and test with their real weights
	$(BIN)/python -m tools.real_models
	$(BIN)/python -m pytest -m real tests/real $(TEST_FLAGS)

mutants: $(VENV)/.ready-test ## put 200 small mistakes into the package, and count those that the tests notice
	$(BIN)/python -m tools.ensure chromium firefox
	$(BIN)/python -m tools.mutants --seed $(SEED) --number $(MUTANTS)

test-lowest: ## the tests on the lowest versions that pyproject.toml allows
	$(call test_resolved,lowest,$(LOWEST_PYTHON),--resolution lowest-direct)

test-newest: ## the tests on the newest versions of everything, and a newer Python
	$(call test_resolved,newest,$(NEWEST_PYTHON),--upgrade)

lint: $(VENV)/.ready-test ## check style, types and formatting; changes nothing
	@$(MAKE) --no-print-directory --jobs=2 lint-types lint-style lint-scripts

lint-types: $(VENV)/.ready-test
	$(BIN)/mypy

lint-style: $(VENV)/.ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-scripts: node_modules/.ready
	$(biome) ci --error-on-warnings
	$(BIN)/node node_modules/typescript/bin/tsc
	$(BIN)/node node_modules/typescript/bin/tsc -p tsconfig.views.json

format: $(VENV)/.ready-test node_modules/.ready ## put Python, JavaScript and CSS into the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(biome) check --write

bench: $(VENV)/.ready-bench ## measure, and write docs/contributing/benchmarks.md
	$(BIN)/python -m tools.ensure chromium
	$(BIN)/python -m benchmarks

fuzz: $(VENV)/.ready-test ## give every door N inputs that nobody should give: make fuzz N=1000
	$(BIN)/python -m tests.support.fuzz $(N) $(FUZZ_FLAGS)

picture: $(VENV)/.ready-test ## take the pictures of the README and the gallery again
	$(BIN)/python -m tools.ensure chromium
	$(BIN)/python -m tools.picture
	$(BIN)/python -m tools.stills

lock: ## write constraints.txt, for every system, from the newest versions that work together
	$(find_python); "$$python" -m venv build/uv
	build/uv/bin/python -m pip install --disable-pip-version-check uv
	printf '%s\n' $(LOCK_WITH) > build/held.txt
	build/uv/bin/uv pip compile pyproject.toml --universal --python-version $(LOWEST_PYTHON) --all-extras \
		-c build/held.txt --no-annotate --custom-compile-command "make lock" $(LOCK_FLAGS) -o constraints.txt

dist: ## build the wheel and the source, check both, and try the wheel in an empty environment
	rm -rf build/dist dist
	$(find_python); "$$python" -m venv build/dist
	build/dist/bin/python -m pip install --disable-pip-version-check build twine
	build/dist/bin/python -m build
	build/dist/bin/python -m twine check --strict dist/*
	build/dist/bin/python -m tools.try_wheel dist/*.whl

clean: ## remove what the other targets made; keeps your notebooks
	rm -rf $(VENV) build dist artifacts .pytest_cache .hypothesis .ruff_cache .mypy_cache node_modules
	rm -rf benchmarks/peers/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is written last, so a set-up that was interrupted is taken up again, and a second call
# has nothing to do until pyproject.toml or constraints.txt changes. venv and pip mend what an
# interrupted run of themselves left behind.
$(VENV)/.ready-lab: EXTRAS := lab
$(VENV)/.ready-test: EXTRAS := lab,test
$(VENV)/.ready-slow: EXTRAS := lab,test,lens,hub
$(VENV)/.ready-dev: EXTRAS := lab,dev
$(VENV)/.ready-bench: EXTRAS := lab,bench
$(VENV)/.ready-docs: EXTRAS := docs
# pip would compile all 19,000 files, one after another; the tests import a few thousand of them.
$(VENV)/.ready-test $(VENV)/.ready-slow: PIP_FLAGS := --no-compile
$(VENV)/.ready-%: pyproject.toml constraints.txt hatch_build.py package-lock.json
	@$(find_python); \
	echo "Setting up $(VENV) for '$*' with $$python (a few minutes the first time)"; \
	"$$python" -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --upgrade pip || true # halves what follows
	$(BIN)/python -m pip install --disable-pip-version-check $(PIP_FLAGS) -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

# The course as pages, which the documentation carries: minutes, so they are written once. `make site` renews them.
build/site/index.html:
	$(MAKE) site

# JupyterHub's proxy, where teaching/jupyterhub_config.py finds it. pip has none that speaks a
# kernel's websocket protocol.
$(BIN)/configurable-http-proxy: | $(VENV)/.ready-slow
	$(BIN)/npm install --global --prefix $(VENV) --no-audit --no-fund --ignore-scripts configurable-http-proxy@5.3.0

# Other hosts of notebooks. pip's --target leaves them out of $(VENV), whose packages they are run with.
build/hosts/.ready: tests/hosts.txt | $(VENV)/.ready-slow
	rm -rf build/hosts
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --target build/hosts -r tests/hosts.txt
	@touch $@

# What the views are built with and checked by, at the versions that package-lock.json names.
node_modules/.ready: package-lock.json $(VENV)/.ready-test
	$(BIN)/npm ci --no-audit --no-fund --ignore-scripts
	@touch $@

# Tests in an environment of their own: its name, its Python, and how uv chooses versions.
define test_resolved
	rm -rf build/$(1)
	$(find_python); "$$python" -m venv build/uv
	build/uv/bin/python -m pip install --disable-pip-version-check uv
	build/uv/bin/uv venv --python $(2) build/$(1)
	build/uv/bin/uv pip install --python build/$(1)/bin/python $(3) -e ".[test]"
	build/$(1)/bin/python -m tools.ensure chromium firefox
	build/$(1)/bin/python -m pytest -n $(TEST_WORKERS) --dist loadfile -m "not slow and not weekly and not real" $(TEST_FLAGS)
endef

define find_python
for python in python3.11 python3 python ""; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
done; \
if [ -z "$$python" ]; then \
	echo "No Python 3.11 or newer found as python3.11, python3 or python; install it and call make again." >&2; \
	exit 1; \
fi
endef
