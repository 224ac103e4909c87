# Every target sets up what it needs on its first run; see tools/environment.sh.
# ROS_DISTRO=kilted selects Kilted instead of Jazzy; PYTHON=... a certain Python.

IN_ENV := ./tools/environment.sh
export URDF DEMO_ARGS TEST_ARGS MATRIX_ARGS STUDY_ARGS FUZZ_ARGS HOURS SOAK_ARGS

# The tests of a file stay together, for they may share nodes; test/conftest.py says how many workers there are, and
# in which order they take the files.
PYTEST := python -m pytest --numprocesses=auto --dist=loadscope --no-loadscope-reorder

.PHONY: help setup demo test test-all pytest pytest-all matrix lint ruff imports mypy bench study fuzz soak parameters policies dist docs clean

help:
	@echo 'make demo [URDF=path/to/robot.urdf]   a simulated arm under control, torques, a Stewart platform'
	@echo 'make demo VIEW=1                      the same, and a page in the browser that shows it live'
	@echo 'make test                             linters and all tests'
	@echo 'make test-all                         the same, and long studies'
	@echo 'make matrix                           the library with the oldest and newest Python, numba and numpy'
	@echo 'make bench                            benchmarks; results in benchmarks/results'
	@echo 'make study                            the tables and figures of the Stewart paper, beside ours'
	@echo 'make fuzz                             random hostile input, seeded; what it finds can be replayed'
	@echo 'make soak [HOURS=1]                   nodes at 1 kHz, disturbed for so long; a report in soak_output'
	@echo 'make parameters                       parameter files of the nodes, from what these declare'
	@echo 'make policies                         access control policies of the nodes for SROS 2'
	@echo 'make dist                             the library for pip: wheel and sdist in dist, installed elsewhere and tried'
	@echo 'make docs                             the documentation site, doc/_build/html; warnings are errors'
	@echo 'make lint                             linters only'
	@echo 'make setup                            only the set-up that the others do by themselves'
	@echo 'make clean                            remove all that these made in the checkout'

setup:
	@$(IN_ENV)

VIEWED := $(filter-out 0,$(VIEW))
GET_VIEWER := python -c "import viser, collada" 2>/dev/null || python -m pip --disable-pip-version-check install -q "viser>=1.1,<2" pycollada || exit 1;

demo:
	@FOR=demo $(IN_ENV) sh -c '$(if $(VIEWED),$(GET_VIEWER)) exec python -m lie_dynamics_ros.demo $${URDF:+--urdf "$$URDF"} $(if $(VIEWED),--view) $$DEMO_ARGS'

lint: ruff imports mypy

ruff:
	@$(IN_ENV) ruff check .

imports:
	@$(IN_ENV) lint-imports --no-cache --no-logo

mypy:
	@$(IN_ENV) mypy

# Beside mypy, which takes half a minute of one core where it has not run before.
test test-all: setup ruff imports
	@$(MAKE) --no-print-directory --jobs=2 py$@ mypy

pytest:
	@$(IN_ENV) sh -c 'exec $(PYTEST) $${CI:+--require-all} $$TEST_ARGS'

pytest-all:
	@$(IN_ENV) sh -c 'exec $(PYTEST) $${CI:+--require-all} -m "slow or not slow" $$TEST_ARGS'

matrix:
	@$(IN_ENV) sh -c 'exec python tools/matrix.py $$MATRIX_ARGS'

bench:
	@$(IN_ENV) python -m benchmarks

study:
	@$(IN_ENV) sh -c 'exec python -m benchmarks.stewart.study $$STUDY_ARGS'

fuzz:
	@$(IN_ENV) sh -c 'PYTHONPATH=test exec python -m fuzz $$FUZZ_ARGS'

soak:
	@$(IN_ENV) sh -c 'PYTHONPATH=test exec python -m soak --hours "$${HOURS:-1}" $$SOAK_ARGS'

parameters:
	@$(IN_ENV) python -m lie_dynamics_ros.nodes.parameters --write config

policies:
	@$(IN_ENV) python -m lie_dynamics_ros.nodes.interfaces config/policies

dist:
	@$(IN_ENV) python tools/dist.py

docs:
	@$(IN_ENV) sh tools/docs.sh

clean:
	rm -rf .venv-* doc/_build doc/examples build install log dist demo_output soak_output .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
