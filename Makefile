# `make train` and `make test` work on a fresh machine with Python 3.11 or later and a package index; `make check` is what CI adds.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: train test check setup

train: setup
	$(BIN)/python train.py model=transformer

test: setup
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

check: setup
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
