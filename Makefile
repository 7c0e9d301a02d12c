# Every command of the project. "make help" lists them; CONTRIBUTING.md says more.
.POSIX:
.SUFFIXES:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

HOST = 127.0.0.1
PORT = 8000
VENV = .venv
PY = $(VENV)/bin/python
UV_VERSION = 0.13.8
LOCK_FLAGS =
PYTHON_TOOL_LOCK = chatui/tools/python/requirements.txt
PYTEST_FLAGS =
CHECK_FLAGS =
BENCH_FLAGS =
CLIENT_FLAGS =
MUTATION_FLAGS =
ROUNDS = 10
# Tests also wait, so there are more test processes than processors. Of those for tests with servers, half as many again as there are
# processors take tests that need one; the others take tests that mostly wait (tests/two_queues.py).
WORKERS = $$(($$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) * 3 / 2))
WAITING_WORKERS = $$(($$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) * 4))
LONGEST = .cache/longest.txt
IN_PROCESS = not browser and not llama and not served and not services
ALONE_WORDS = $(IN_PROCESS) and not slow
ALONE = "$(ALONE_WORDS) and not extended"
WITH_SERVERS = "not ($(ALONE_WORDS)) and not extended"

.PHONY: help run test test-fast check format wire messages lock python-tool faults extended release long mutations attack accessibility bench clients chart docs package image-steps clean venv runtime development chromium fault-programs

help: ## List these commands
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

run: runtime ## Set everything up and serve the product on http://localhost:8000 (or HOST= and PORT=)
	@exec $(PY) manage.py serve --host $(HOST) --port $(PORT)

test: development chromium fault-programs ## Set everything up, check the code and run the tests; lists what could not run
	@failed=; minutes=; rm -f $(LONGEST); \
	part() { \
	  name=$$1; shift; began=$$(date +%s); echo "$$name:"; \
	  "$$@" || failed="$$failed $$name;"; \
	  took=$$(($$(date +%s) - began)); minutes="$$minutes$$(printf '%3d:%02d  %s' $$((took / 60)) $$((took % 60)) "$$name")|"; \
	}; \
	tests() { $(PY) -m pytest --quiet --longest=$(LONGEST) "$$@" $(PYTEST_FLAGS); }; \
	part "The checks" $(PY) -m tests.tools.check $(CHECK_FLAGS); \
	part "Tests that need no browser and no server" tests --numprocesses $(WORKERS) --dist worksteal -m $(ALONE); \
	part "Tests that start a server, need a browser, llama.cpp, or PostgreSQL and Redis, or take long" \
	  tests --numprocesses $(WAITING_WORKERS) --dist loadfile --no-loadscope-reorder -m $(WITH_SERVERS); \
	if [ -f $(LONGEST) ]; then echo "The longest tests:"; sort -rn $(LONGEST) | head -n 20; fi; \
	echo "Minutes:"; echo "$$minutes" | tr '|' '\n'; \
	if [ -n "$$failed" ]; then echo "Failed:$$failed see above."; exit 1; fi

test-fast: development ## Tests that need no browser and no server and are quick
	@$(PY) -m pytest --numprocesses $(WORKERS) --dist worksteal --quiet -m $(ALONE) $(PYTEST_FLAGS)

check: development ## Format, lint, types, import contracts, unused code, templates, migrations, Dockerfile, JavaScript
	@$(PY) -m tests.tools.check $(CHECK_FLAGS)

format: development ## Format the Python code
	@$(VENV)/bin/ruff check --fix-only --quiet .
	@$(VENV)/bin/ruff format --quiet .

faults: development fault-programs ## Races and faults, each many times (ROUNDS=50); make test runs each once
	@CHATUI_TEST_LONG=$(ROUNDS) $(PY) -m pytest --numprocesses auto --dist loadfile --quiet -m faults $(PYTEST_FLAGS)

extended: development chromium fault-programs ## The tests that make test leaves out: more variants of what it covers
	@$(PY) -m pytest --numprocesses $(WAITING_WORKERS) --dist loadfile --no-loadscope-reorder --quiet -m extended $(PYTEST_FLAGS)

release: ## All of it, one after the other, before a release: it takes hours, and goes on where one part fails
	@failed=; for part in test extended faults attack accessibility clients bench image-steps chart; do \
	  $(MAKE) $$part || failed="$$failed $$part"; \
	done; \
	if [ -n "$$failed" ]; then echo "Failed:$$failed"; exit 1; fi

long: development ## Tests without a browser or server, with all examples and random cases; make test runs a fifth
	@CHATUI_TEST_LONG=$(ROUNDS) CHATUI_TEST_SHAPES=all $(PY) -m pytest --numprocesses auto --quiet -m "$(IN_PROCESS)" $(PYTEST_FLAGS)

mutations: development ## Change the code in drawn places, one at a time, and list what no fast test notices (MUTATION_FLAGS="--count 30 renderer")
	@$(PY) -m tests.mutations --tests $(ALONE) $(MUTATION_FLAGS)

wire: development ## Generate the scripts' types and docs/socket.md from chatui/wire
	@$(PY) -m tests.tools.wire_types

messages: development ## Update the translation catalogues from the code, and list what is not translated
	@$(PY) -m tests.tools.messages

attack: development chromium ## Load every known attack in a real browser, play every shape of the canary, ask in every way; takes long
	@failed=; \
	$(PY) -m tests.attacks || failed=1; \
	export CHATUI_TEST_SHAPES=all; \
	$(PY) -m pytest --quiet tests/chatui/operations/canary/test_runs.py tests/services/test_canary.py -k "every_shape or clean_through" $(PYTEST_FLAGS) || failed=1; \
	$(PY) -m pytest --numprocesses auto --quiet -m slow tests/canary tests/chatui/turns/streams $(PYTEST_FLAGS) || failed=1; \
	[ -z "$$failed" ]

accessibility: development chromium ## Every state of every page by keyboard, zoomed and by finger; make test takes some
	@CHATUI_TEST_STATES=all $(PY) -m pytest --numprocesses auto --quiet tests/browser/accessibility $(PYTEST_FLAGS)

clients: development ## Real client libraries against the API: each streams, calls a function, and asks twice (CLIENT_FLAGS=--record)
	@$(PY) -m tests.clients $(CLIENT_FLAGS)

bench: development ## Measure what things cost, as ratios within one run (BENCH_FLAGS=--short)
	@$(PY) -m tests.bench
	@$(PY) -m tests.bench.delivery $(BENCH_FLAGS)

package: development ## Build the wheels in dist/, for pip install: the product, with all that it serves, and the library openchatml
	@set -e; packaged=$$PWD/.cache/packaged; rm -rf "$$packaged" dist/chatui-*.whl dist/openchatml-*.whl; mkdir -p "$$packaged"; \
	at=$$(date -u +%Y%m%d%H%M%S); \
	CHATUI_DATA_DIR="$$packaged" $(PY) manage.py collectstatic --noinput --verbosity 0; \
	CHATUI_DATA_DIR="$$packaged" $(PY) manage.py fetch_vocabulary; \
	CHATUI_PACKAGED="$$packaged" CHATUI_PACKAGED_AT=$$at $(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .; \
	CHATUI_PACKAGED_AT=$$at $(PY) -m deploy.library dist; \
	rm -rf "$$packaged"; ls dist/*.whl

chart: development ## Check the Helm chart in deploy/chart, and write the manifests of deploy/kubernetes from it
	@$(PY) -m tests.tools.chart

docs: development ## Build the site of the documentation in dist/site
	@$(PY) -m tests.tools.site

image-steps: development ## Run the Dockerfile's steps in a clean directory, without Docker
	@$(PY) -m tests.tools.docker_steps

# The requirements contain pins and hashes, never download addresses. LOCK_FLAGS=--upgrade takes the newest versions that pyproject.toml allows.
lock: venv ## Regenerate the requirements files from pyproject.toml
	@set -e; scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	$(PY) -m venv "$$scratch"; \
	"$$scratch/bin/python" -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION); \
	compile="$$scratch/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate $(LOCK_FLAGS)"; \
	$$compile pyproject.toml --output-file requirements.txt >/dev/null; \
	$$compile pyproject.toml --group dev --extra traces --constraint requirements.txt --output-file requirements-dev.txt >/dev/null; \
	$$compile pyproject.toml --extra traces --constraint requirements.txt --output-file requirements-traces.txt >/dev/null; \
	$$compile --group build --constraint requirements-dev.txt --output-file requirements-build.txt >/dev/null; \
	$$compile --group python-tool --output-file $(PYTHON_TOOL_LOCK) >/dev/null; \
	echo "requirements.txt, requirements-dev.txt, requirements-traces.txt, requirements-build.txt and $(PYTHON_TOOL_LOCK) are written. Look at the difference, then run make test."

python-tool: runtime ## Install numpy, pandas, matplotlib and others for the tool python, into the data directory
	@$(PY) manage.py python_tool

clean: ## Remove what the other commands created; keeps the data in var/
	@rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache tests/js/node_modules
	@find chatui renderer tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Creates the virtual environment with PYTHON= if given, else with an interpreter on the PATH that is new enough: the first, or one that is
# much faster. Without Debian's python3-venv, an interpreter cannot create one, and is passed over if there is another.
venv:
	@if ! $(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	  found=; tried="$${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}"; \
	  for candidate in $$tried; do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$candidate; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "Python 3.11 or newer is needed and was not found. Tried: $$tried. Set PYTHON=... to use another one." >&2; \
	    exit 1; \
	  fi; \
	  if [ -z "$$PYTHON" ]; then found=$$("$$found" tests/tools/interpreter/choose.py || echo "$$found"); fi; \
	  echo "Creating the virtual environment $(VENV) with $$("$$found" --version)."; \
	  rm -rf $(VENV); \
	  if ! said=$$("$$found" -m venv $(VENV) 2>&1); then \
	    rm -rf $(VENV); printf '%s\n' "$$said" >&2; \
	    echo "$$found cannot create a virtual environment. On Debian and Ubuntu this needs a separate package: apt-get install python3-venv" >&2; \
	    exit 1; \
	  fi; \
	fi

# The vocabulary of gpt-oss is fetched once for an environment, here and never while the product runs. Where that fails, it says so, and goes on.
runtime: venv
	@set -e; list=requirements.txt; $(INSTALL)
	@$(PY) -m chatui.site.catalogues
	@[ -e $(VENV)/vocabulary.installed ] || { $(PY) -m chatui.model_servers.vocabulary && touch $(VENV)/vocabulary.installed; }

development: venv
	@set -e; list=requirements-dev.txt; $(INSTALL)
	@$(PY) -m chatui.site.catalogues

# Installs $$list, unless a stamp in $(VENV) says that this version of the list, or of requirements-dev.txt, which contains all others, is
# installed for this version of Python. Another list's stamp is removed, because its versions may have been replaced.
INSTALL = \
	key() { $(PY) -c 'import hashlib, platform, sys; print(platform.python_version(), hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' $$1; }; \
	is_installed() { [ "$$(cat $(VENV)/$$1.installed 2>/dev/null)" = "$$(key $$1)" ]; }; \
	if ! is_installed $$list && ! is_installed requirements-dev.txt; then \
	  echo "Installing $$list into $(VENV); this takes a minute or two."; \
	  rm -f $(VENV)/*.installed; \
	  $(PY) -m pip install --quiet --disable-pip-version-check --no-input --require-hashes --requirement $$list; \
	  key $$list > $(VENV)/$$list.installed; \
	fi

# Without Chromium the browser tests are skipped, and the summary of make test says why.
chromium: development
	@$(PY) -m tests.tools.chromium

# The same applies to the tests that need haproxy or faketime.
fault-programs: development
	@$(PY) -m tests.tools.fault_programs
