# make serve   start the proxy with the shipped config.yaml on http://127.0.0.1:8080
# make test    lint, types, tests
# make bench   what the proxy itself costs, as ratios
# make experiment   a drift experiment with embedded parts, and its report
.PHONY: serve test setup bench experiment
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[litellm,dev]'
	touch $(STAMP)

serve: setup
	$(VENV)/bin/caf serve

test: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy .
	$(VENV)/bin/python -m pytest

bench: setup
	$(VENV)/bin/python -m bench

experiment: setup
	$(VENV)/bin/caf drift run scenarios/experiments/embedded.yaml
