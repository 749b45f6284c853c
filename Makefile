# Everything from a bare checkout with Python 3.11 or newer, git and make.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
STAMP := $(VENV)/.installed
SECONDS ?= 1800

.PHONY: demo soak test test-all check bench kafka kafka-jars format clean

$(STAMP): pyproject.toml
	@echo "Setting up $(VENV), once; it takes a minute or a few."
	@test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	@$(RUN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@$(RUN)/python -m compileall -q storage operators sql planner runtime server
	@touch $@

demo: $(STAMP)
	@$(RUN)/millpond demo

check: $(STAMP)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/basedpyright

test: check
	$(RUN)/python -m pytest -m "not slow" -n auto --dist loadgroup

test-all: check
	$(RUN)/python -m pytest

soak: $(STAMP)
	$(RUN)/python -m tests.soak $(SECONDS)

bench: $(STAMP)
	$(RUN)/millpond bench core

# The jars of one Kafka broker, for the tests marked kafka: needs Java 17 and Maven.
kafka-jars:
	@tools/kafka/fetch.sh

kafka: $(STAMP) kafka-jars
	@$(RUN)/python tests/kafka/broker.py

format: $(STAMP)
	$(RUN)/ruff check --fix .
	$(RUN)/ruff format .

clean:
	rm -rf $(VENV) build dist *.egg-info
