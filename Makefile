# make serve   start the proxy with the shipped config.yaml on http://127.0.0.1:8080
# make gesundheit    serve the German assistant Gesundheit there (docs/gesundheit.md)
# make health        serve the assistant Health there, with synthetic demo data (docs/health_agent.md)
# make hippocrates   serve the assistant Hippocrates there, with demo data (docs/hippocrates.md)
# make test    lint, types, tests
# make bench   what the proxy itself costs, as ratios
# make experiment   a drift experiment with embedded parts, and its report
# Each first installs into .venv what it needs; the first part alone: make serving, make lab (judges and experiments), make setup (all).
.PHONY: serve gesundheit health hippocrates test serving lab setup clients bench experiment
# The system's own where it will do, regardless of PATH: systems build theirs with profile-guided optimisation, pyenv
# does not, and judging then takes a seventh longer. Another one: make PYTHON=python3.12 setup
PYTHON ?= $(shell own=/usr/bin/python3; $$own -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$own || echo python3)
VENV := .venv
UV ?= $(shell command -v uv)
INSTALL := $(if $(UV),$(UV) pip install --python $(VENV)/bin/python,$(VENV)/bin/pip install --disable-pip-version-check)
NODE_CLIENT := tests/clients/node_modules/.package-lock.json

serving: $(VENV)/.serving
lab: $(VENV)/.lab
setup: $(VENV)/.dev

# A larger installation has all of the smaller ones.
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
	@test -x $(VENV)/bin/python || { echo "Making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	$(INSTALL) -c constraints.txt -e '.$(EXTRAS)'
	@cd $(VENV) && touch $(STAMPS)

# Packages for Node that some tests run; they are skipped where there is no npm.
clients: $(if $(shell command -v npm),$(NODE_CLIENT))

$(NODE_CLIENT): tests/clients/package-lock.json
	npm ci --prefix tests/clients --ignore-scripts --no-audit --no-fund --silent
	touch $@

serve: serving
	@echo "To talk to it, in another terminal: $(VENV)/bin/caf chat --url http://127.0.0.1:8080"
	$(VENV)/bin/caf serve

gesundheit: $(VENV)/.gesundheit
	@echo "To talk to it, in another terminal: $(VENV)/bin/caf chat --url http://127.0.0.1:8080"
	$(VENV)/bin/caf serve --config assistants/gesundheit/config.yaml

health: $(VENV)/.health
	@echo "To talk to it, in another terminal: $(VENV)/bin/caf chat --url http://127.0.0.1:8080"
	$(VENV)/bin/caf serve --config assistants/health/config.yaml

hippocrates: $(VENV)/.hippocrates
	@echo "To talk to it, in another terminal: $(VENV)/bin/caf chat --url http://127.0.0.1:8080"
	$(VENV)/bin/caf serve --config assistants/hippocrates/config.yaml

# Whole files go to one process: their tests share servers. Three on two cores, since many tests wait for one.
# A test that failed is run once more, alone: a test that waits for a server can fail on a busy machine.
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
