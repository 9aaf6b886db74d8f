# Every target sets itself up in .venv; only Python >= 3.11 is needed (make PYTHON=python3.12 ... picks another one).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(wildcard src tests benchmarks papers docs)
# two processes with half of the tests each, in their order: what the tests of a file share is compiled by one of them, not by both at once
TWO := -n 2 --dist worksteal

.PHONY: demo test thorough public bounds combinations triples fuzz mutation lint robots kills dead-points six-digits pools cluster cache-trouble soak memory wheel bench papers docs thumbnails \
    screenshots picture clean

demo: $(VENV)/.ready-plot
	$(BIN)/leastaction demo

test: lint
	$(BIN)/leastaction cache --warm
	$(BIN)/python -m pytest $(TWO) --durations=60 --durations-min=5

# random one-token mutants against the tests of their room (make mutation MUTANTS=10 ROOMS=lie,io SEED=7 ...)
MUTANTS ?= 60
ROOMS ?= lie,joints,io/urdf,io/sexp,solvability,kernels
mutation: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m mutation --count $(MUTANTS) --seed $(SEED) --rooms $(ROOMS)

lint: $(VENV)/.ready-test
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/lint-imports
	$(BIN)/mypy

# what compiles most, too much for `make test`: every integrator with every constraint, force and joint, laws on bodies, servos, lanes, specialised code
thorough: $(VENV)/.ready-test
	$(BIN)/python -m pytest $(TWO) --durations=30 --durations-min=5 -m slow tests/conformance tests/physics

# what compiles everything once more: without the private parts of Numba, and in an extended copy of the package; and the long ones in plain Python
public: $(VENV)/.ready-test
	$(BIN)/python -m pytest --durations=30 --durations-min=5 -m slow tests/unit tests/extending tests/physics/test_in_plain_python.py

# compiled code that checks every index, with canaries around all arrays; takes long, so it is optimised only a little (make bounds CHECKED=tests/io)
CHECKED ?= tests/physics tests/conformance tests/io
bounds: $(VENV)/.ready-test
	NUMBA_OPT=1 NUMBA_BOUNDSCHECK=1 LEASTACTION_GUARD=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/bounds $(BIN)/python -m pytest $(TWO) \
	    -m "slow or not slow" $(CHECKED)

# which integrators, joints, forces and constraints go together, found out by running them: writes docs/combinations.md
combinations: $(VENV)/.ready-test
	NUMBA_DISABLE_JIT=1 PYTHONPATH=tests $(BIN)/python -m conformance.combinations

# every three of them: twelve minutes of one processor
triples: $(VENV)/.ready-test
	NUMBA_DISABLE_JIT=1 PYTHONPATH=tests $(BIN)/python -m conformance.combinations triples

# every robot of example-robot-data against Pinocchio, of gymnasium and dm_control against MuJoCo, and 10,000 hostile files
robots: $(VENV)/.ready-robots
	LEASTACTION_FUZZ=10000 $(BIN)/python -m pytest tests/io
	$(BIN)/python -m benchmarks robots
	$(BIN)/python -m benchmarks mjcf

# 100,000 random inputs in plain Python, counted by how they end, then compiled for as long as you like (make fuzz INPUTS=1000 SECONDS=600
# SEED=7 ...); failures say how to repeat them
INPUTS ?= 100000
SECONDS ?= 3600
SEED ?= 1
fuzz: $(VENV)/.ready-test
	NUMBA_DISABLE_JIT=1 PYTHONPATH=tests $(BIN)/python -m support.fuzzing $(INPUTS) $(SEED)
	LEASTACTION_FUZZ_SECONDS=$(SECONDS) LEASTACTION_FUZZ_SEED=$(SEED) $(BIN)/python -m pytest -s tests/fuzz

# a recorded run that is killed fifty times
kills: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m support.kills 50

# random planar linkages driven through their dead points: each keeps its energy law or stops with a reason
dead-points: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m support.dead_points 200

# loops as files with six digits have them, over 600 s: closed within their slack, and their energy (make six-digits TIME=60)
TIME ?= 600
six-digits: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m support.six_digits $(TIME)

# a hundred roll-outs, ten of which fail, in process pools of every kind: the bits of one process
pools: $(VENV)/.ready-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check joblib
	PYTHONPATH=tests $(BIN)/python -m support.pools

# ten thousand runs on a Dask cluster of two workers, one of which is killed: all there, none twice, the bits of one process (make cluster RUNS=500)
RUNS ?= 10000
cluster: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m support.cluster $(RUNS)

# damaged files, full disks, kills while compiling, ...: the cache of machine code may be slow, never wrong
cache-trouble: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m support.cache_trouble

# 10^8 steps of a chain and 10^7 of a loop: energy, closure, memory and time per step stay flat (make soak STEPS=1000000 LOOP=100000 ...)
STEPS ?= 100000000
LOOP ?= 10000000
soak: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m support.soak --steps $(STEPS) --loop $(LOOP)

# models made and dropped: 100 specialised, 1000 with a CustomForce (make memory SPECIALISED=5 CUSTOM=50 ...)
SPECIALISED ?= 100
CUSTOM ?= 1000
memory: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m support.memory $(SPECIALISED) $(CUSTOM)

# wheel (with intermediate code) and sdist, built into dist/, installed and used in new environments of every Python from 3.11 to 3.14 that is here
wheel: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m support.wheel

# every figure and table of the papers, with verdicts, into papers-report/index.html (make papers WHAT="lee --quick" ...)
papers: $(VENV)/.ready-papers
	$(BIN)/leastaction papers $(WHAT)

bench: $(VENV)/.ready-bench
	$(BIN)/python -m benchmarks

# the documentation as a site, docs/_build/index.html
docs: $(VENV)/.ready-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build

# pictures of the gallery, taken in a headless Chromium (make thumbnails NAMES="heavy-top four-bar")
thumbnails: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m support.thumbnails $(NAMES)

# screenshots of the documentation: the live view, a notebook (pip install nbconvert ipykernel), the gallery and the site (make docs)
screenshots: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m support.screenshots $(NAMES)

# the moving picture of the README
picture: $(VENV)/.ready-test
	PYTHONPATH=tests $(BIN)/python -m support.moving_picture

clean:
	rm -rf $(VENV) demo papers-report docs/_build docs/api.rst docs/_cards.html docs/_static/cards.css gallery build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else f"leastaction needs Python 3.11 or newer, this is {sys.version.split()[0]}; try make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

# one stamp per extra: set-up happens again only when the dependencies change
$(VENV)/.ready-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@
