# `make demo` and `make test` do all their own set-up: they need Python 3.10 or newer with venv, and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One thread each: the physics has its own threads, and two pools on the same cores slow each other down.
export OMP_NUM_THREADS ?= 1

.PHONY: demo newcomer test test-fast test-lerobot test-ray check docs bench bench-gpu learn-gpu clean

demo: $(READY)  ## train an agent on PBDCloth-v0 within a minute, and show what it learned
	$(BIN)/pbd-gym train PBDCloth-v0 --out runs/demo

test: export SDL_VIDEODRIVER ?= dummy
test: check  ## lint, formatting, types and all tests
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

test-fast: export SDL_VIDEODRIVER ?= dummy
test-fast: check  ## the same, but of the tests those of what changed since main, and a core: for each commit
	$(BIN)/python -m pytest tests --changed --numprocesses 2 --dist worksteal

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror pbd_gym/kernels/native/*.h
	$(BIN)/mypy

# PBD_GYM_BROWSER=required lets it fail where there is no browser.
docs: $(READY)  ## the site, in runs/site/html: built, then checked page by page, in a browser where there is one
	$(BIN)/python -m docs.site runs/site
	PBD_GYM_SITE=runs/site/html $(BIN)/python -m pytest tests/docs/site

test-ray:  ## commands with --ray and the RLlib sample, in an environment of its own: Ray pins a Gymnasium
	$(PYTHON) -m venv runs/ray
	runs/ray/bin/python -m pip install --quiet 'ray[rllib]==2.60.0' $$(grep '^torch==' constraints.txt) pytest '.[ray]'
	runs/ray/bin/python -m pytest tests/training/test_rllib_sample.py tests/training/test_ray.py

test-lerobot:  ## that LeRobot reads what collect writes and evaluates on our ids; it pins torch (4.5 GB of wheels)
	$(PYTHON) -m venv runs/lerobot-venv
	runs/lerobot-venv/bin/python -m pip install --quiet 'lerobot[dataset]' pytest '.[lerobot]'
	runs/lerobot-venv/bin/python -m pytest tests/training/data/test_lerobot_datasets.py tests/training/test_lerobot_eval.py

newcomer:  ## a first hour, typed as the pages say, in a fresh clone and environment: some ten minutes
	$(PYTHON) -m tests.newcomer runs/newcomer-$$(date +%s)

bench: $(READY)  ## measure what docs/speed.md shows
	$(BIN)/pbd-gym bench

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

# One command for whoever has an NVIDIA GPU: the tests that need one, and W1 to W5, whole environments and scaling on it.
# Where packages are there already and cannot be fetched: `make bench-gpu PY=python3`. A test that fails stops no benchmark.
PY ?= $(BIN)/python
OUT ?= runs/gpu
DEVICE ?= cuda:0
bench-gpu: $(if $(filter $(BIN)/python,$(PY)),$(READY))
	mkdir -p $(OUT)
	$(PY) -m pytest -m gpu $$(grep -rl --include="*.py" "mark[.]gpu" tests); tests=$$?; \
	$(PY) -m pbd_gym bench $(GPU_WORKLOADS) --device $(DEVICE) --json $(OUT)/gpu.json --csv $(OUT)/gpu.csv && \
	$(PY) -m pbd_gym bench scaling --device $(DEVICE) --repeats 3 --csv $(OUT)/scaling.csv --plot $(OUT)/scaling.png && \
	exit $$tests
GPU_WORKLOADS := w1 w2 w3 w4 w5 cloth-vec rope-vec soft-vec pendulum-vec flatten-vec rotations startup

# For a GPU that is lent for a quarter of an hour: that what is recorded trains as what is called, speeds of rollouts and
# updates, and the times to 95 % success, the most wanted first.
learn-gpu: $(if $(filter $(BIN)/python,$(PY)),$(READY))  ## how fast PPO and SAC learn on a GPU, within a quarter of an hour
	mkdir -p $(OUT)
	$(PY) -m pytest -m gpu tests/training/learners; tests=$$?; \
	$(PY) -m pbd_gym.training.learning_speed --device $(DEVICE) --minutes 12 --json $(OUT)/learn.json && exit $$tests

clean:
	rm -rf $(VENV) build dist *.egg-info runs
