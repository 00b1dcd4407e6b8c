# `make demo` and `make test` do all their own set-up: they need Python 3.10 or newer with venv, and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One thread each: the physics has its own threads, and two pools on the same cores slow each other down.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test check bench gpu clean

demo: $(READY)  ## train an agent on PBDCloth-v0 in about two minutes, and show what it learned
	$(BIN)/pbd-gym train PBDCloth-v0 --out runs/demo

test: check  ## lint, formatting, types and all tests
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)  ## measure what the README's table shows
	$(BIN)/pbd-gym bench

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

gpu: $(READY)  ## on a machine with an NVIDIA GPU: the tests that need one, and its speed
	$(BIN)/python -m pytest -m gpu
	$(BIN)/pbd-gym bench w1 cloth-vec --device cuda:0

clean:
	rm -rf $(VENV) build dist *.egg-info runs
