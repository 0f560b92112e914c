# make serve         serve the shipped config.yaml on http://127.0.0.1:8080
# make gesundheit    serve the German assistant Gesundheit on the same address (docs/gesundheit.md)
# make health        serve the assistant Health on the same address, with synthetic demo data (docs/health_agent.md)
# make hippocrates   serve the assistant Hippocrates on the same address, with demo data (docs/hippocrates.md)
# make test          run the linter, the type checker and the tests
# make bench         measure the overhead of the proxy
# make experiment    run a drift experiment without language models, and write its report
#
# Each target first installs its libraries into .venv. To install without running anything:
# make serving       the proxy only
# make lab           the proxy, and the tools that measure judges and run experiments
# make setup         everything, including the development tools
.PHONY: help serve gesundheit health hippocrates test serving lab setup clients bench experiment
# The default is the system's Python if it is recent enough, regardless of PATH. Most systems build it with profile-guided
# optimisation; pyenv does not, and judging then takes a seventh longer. To choose another: make PYTHON=python3.12 setup
PYTHON ?= $(shell own=/usr/bin/python3; $$own -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$own || echo python3)
VENV := .venv
UV ?= $(shell command -v uv)
INSTALL := $(if $(UV),$(UV) pip install --quiet --python $(VENV)/bin/python,$(VENV)/bin/pip install --quiet --disable-pip-version-check)
NODE_CLIENT := tests/clients/node_modules/.package-lock.json

serving: $(VENV)/.serving
lab: $(VENV)/.lab
setup: $(VENV)/.dev

# Each stamp file marks an installation as complete. A larger installation also marks the smaller ones that it includes.
$(VENV)/.serving: EXTRAS :=
$(VENV)/.lab: EXTRAS := [lab,import]
$(VENV)/.gesundheit: EXTRAS := [encoder]
$(VENV)/.health: EXTRAS := [health]
$(VENV)/.hippocrates: EXTRAS := [hippocrates]
$(VENV)/.dev: EXTRAS := [dev]
$(VENV)/.serving: STAMPS := .serving
$(VENV)/.lab: STAMPS := .serving .lab
$(VENV)/.gesundheit: STAMPS := .serving .gesundheit
$(VENV)/.health: STAMPS := .serving .health
$(VENV)/.hippocrates: STAMPS := .serving .hippocrates
$(VENV)/.dev: STAMPS := .serving .lab .gesundheit .health .hippocrates .dev

$(VENV)/.serving $(VENV)/.lab $(VENV)/.gesundheit $(VENV)/.health $(VENV)/.hippocrates $(VENV)/.dev: pyproject.toml constraints.txt
	@test -x $(VENV)/bin/python || { echo "Creating $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@echo "Installing CAF$(EXTRAS) and its libraries into $(VENV); the first time takes a few minutes"
	@$(INSTALL) -c constraints.txt -e '.$(EXTRAS)'
	@cd $(VENV) && touch $(STAMPS)

# Packages for Node that some tests need. Without npm, these tests are skipped.
clients: $(if $(shell command -v npm),$(NODE_CLIENT))

$(NODE_CLIENT): tests/clients/package-lock.json
	npm ci --prefix tests/clients --ignore-scripts --no-audit --no-fund --silent
	touch $@

help:
	@sed -n '/^# make/p; /^\.PHONY/q' Makefile

serve: serving
	@echo "To chat with it, run in another terminal: $(VENV)/bin/caf chat --url http://127.0.0.1:$(or $(CAF_PORT),8080)"
	$(VENV)/bin/caf serve

gesundheit: $(VENV)/.gesundheit
	@echo "To chat with it, run in another terminal: $(VENV)/bin/caf chat --url http://127.0.0.1:$(or $(CAF_PORT),8080)"
	$(VENV)/bin/caf serve --config assistants/gesundheit/config.yaml

health: $(VENV)/.health
	@echo "To chat with it, run in another terminal: $(VENV)/bin/caf chat --url http://127.0.0.1:$(or $(CAF_PORT),8080)"
	$(VENV)/bin/caf serve --config assistants/health/config.yaml

hippocrates: $(VENV)/.hippocrates
	@echo "To chat with it, run in another terminal: $(VENV)/bin/caf chat --url http://127.0.0.1:$(or $(CAF_PORT),8080)"
	$(VENV)/bin/caf serve --config assistants/hippocrates/config.yaml

# All tests of a file run in one process, because they share servers. Three processes suit two cores, because many tests wait.
# Failed tests are run once more without parallelism, because tests that wait for a server can fail on a busy machine.
test: setup clients
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy .
	$(VENV)/bin/python -m pytest -n 3 --dist loadfile || \
	{ [ $$? = 1 ] && $(VENV)/bin/python -m pytest --last-failed --last-failed-no-failures none; }

bench: lab
	$(VENV)/bin/python -m bench

experiment: lab
	$(VENV)/bin/caf drift run scenarios/experiments/embedded.yaml
