# make serve   start the proxy with the shipped config.yaml on http://127.0.0.1:8080
# make test    lint, types, tests
# make bench   what the proxy itself costs, as ratios
# make experiment   a drift experiment with embedded parts, and its report
.PHONY: serve test setup clients bench experiment
# The system's own where it will do, whatever else is first on the path: systems build theirs with profile-guided optimisation, pyenv
# does not, and judging then takes a seventh longer. Another one: make PYTHON=python3.12 setup
PYTHON ?= $(shell own=/usr/bin/python3; $$own -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$own || echo python3)
VENV := .venv
STAMP := $(VENV)/.installed
NODE_CLIENT := tests/clients/node_modules/.package-lock.json

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[litellm,dev]'
	touch $(STAMP)

# The openai SDK for Node, which some tests run; they are skipped where there is no npm.
clients: $(if $(shell command -v npm),$(NODE_CLIENT))

$(NODE_CLIENT): tests/clients/package-lock.json
	npm ci --prefix tests/clients --ignore-scripts --no-audit --no-fund --silent
	touch $@

serve: setup
	$(VENV)/bin/caf serve

# Whole files go to one process: their tests share servers.
test: setup clients
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy .
	$(VENV)/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile

bench: setup
	$(VENV)/bin/python -m bench

experiment: setup
	$(VENV)/bin/caf drift run scenarios/experiments/embedded.yaml
