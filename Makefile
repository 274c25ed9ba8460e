# make demo | report | quick | test | test-cost | check | test-all | bench | mutants   (all idempotent; the first call builds .venv)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The program alone, for who tries it, compiled as it is used; what its makers need comes with $(STAMP).
PROGRAM := $(VENV)/.program
TYPES := .cache/types

.PHONY: demo report quick test test-cost test-all live check lint types imports bench fuzz docs pictures mutants golden earning matrix wheel locked clean

$(PROGRAM): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[highs,report]'
	@touch $@

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PYTHON) .ci/groups.py dev >$(VENV)/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[highs,report]' -r $(VENV)/dev.txt
	@touch $(PROGRAM) $@

# The same environment by sum: every wheel must be the one that .ci/hashes.py saw on this platform.
# Where there is no file for it, `$(PYTHON) .ci/hashes.py` writes one (from an index that you trust).
HASHES = .ci/hashes-$(shell $(PYTHON) .ci/hashes.py --platform).txt

locked:
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $(HASHES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(PROGRAM) $(STAMP)

demo: $(PROGRAM)
	$(BIN)/slotwise compare --example joint-wins
	$(BIN)/slotwise compare --example headline
	$(BIN)/slotwise compare --example kth-sp2-queue-10
	$(BIN)/slotwise compare --example cluster-1000 --time-limit 20

# A page to look at; EXAMPLE=headline or any other name of `slotwise examples`.
EXAMPLE ?= cluster-1000
report: $(PROGRAM)
	$(BIN)/slotwise report --example $(EXAMPLE) --time-limit 20 --explain 3 -o report.html --open

# ARGS: more for pytest, as in `make test ARGS="-k kills"`.
ARGS ?=

# Between two edits: pure functions and golden numbers, in less than a minute.
QUICK = tests/availability tests/fairshare tests/formats tests/lsf tests/lsf_state tests/model \
    tests/placement tests/resreq tests/rules

quick: $(STAMP)
	$(BIN)/python -m pytest -n auto $(QUICK) $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

# The same, and what each folder, file and test took of the processor, the dearest first.
test-cost: $(STAMP)
	@mkdir -p build
	$(BIN)/python -m pytest -n auto --dist worksteal --cpu-seconds build/test-cost.txt $(ARGS)
	@head -n 60 build/test-cost.txt

# Whole products of cases, long proofs, whole traces, many examples of every property.
test-all: $(STAMP)
	$(BIN)/python -m pytest -n auto -m '' --hypothesis-profile=thorough $(ARGS)

# Live schedulers of this machine: Slurm against method slurm, volclava against the loop (tests/live/README.md).
live: $(STAMP)
	$(BIN)/python -m pytest -n 0 -m slow tests/live $(ARGS)

check: lint types imports test

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python docs/terms.py

# The type checker needs a folder that carries the package's name.
types: $(STAMP)
	@mkdir -p $(TYPES) && ln -sfn ../.. $(TYPES)/slotwise
	$(BIN)/mypy -m slotwise -p slotwise.model -p slotwise.solver -p slotwise.cli -p slotwise.instances
	$(BIN)/python -m pytest -m types tests/library/test_typed.py

# The measurements that need nothing but this repository (docs/dev/benchmarks.md names the others).
bench: $(STAMP)
	for name in single_job placement lexicographic resreq loop fairshare replay in_memory; do \
	    echo "== $$name"; $(BIN)/python benchmarks/record.py $$name || exit 1; done

# The tests under every Python that is here, with the lowest and the highest dependencies.
matrix:
	$(PYTHON) .ci/matrix.py

# Hostile inputs and pairs of commands by number (docs/limits.md); INPUTS=20000 takes half a minute.
INPUTS ?= 2000000
PAIRS ?= 2000
SEED ?= 1
fuzz: $(STAMP)
	$(BIN)/python tests/fuzz/hostile.py --inputs $(INPUTS) --seed $(SEED)
	$(BIN)/python tests/fuzz/hostile.py --readers --inputs $(INPUTS) --seed $(SEED)
	$(BIN)/python tests/fuzz/pairs.py --pairs $(PAIRS) --seed $(SEED)

# Pages are brought up to date (tables, outputs of commands, man page, completions), then the site is built.
docs: $(STAMP)
	$(BIN)/python docs/make_compatibility.py
	$(BIN)/python docs/shown.py
	$(BIN)/python docs/make_reference.py --installed
	$(BIN)/python -m sphinx -q -b html docs build/docs

# The pictures of README and docs, drawn by the program itself in headless Chromium.
pictures: $(STAMP)
	$(BIN)/python docs/make_pictures.py

imports: $(STAMP)
	$(BIN)/lint-imports --no-cache

# Outputs of tests/golden written anew; the diff is to be looked at.
golden: $(STAMP)
	$(BIN)/python -m pytest tests/test_golden.py --record-golden
	git diff --stat tests/golden

# Which test functions of a folder find what no other finds: make earning TESTS=tests/resreq
TESTS ?= tests/lsf_state
earning: $(STAMP)
	$(BIN)/python docs/earning_tests.py $(TESTS)

# Faults put into the code one at a time, 300 drawn by seed (hours; goes on where it was stopped).
MUTANTS ?= --count 300 --seed 1
mutants: $(STAMP)
	$(BIN)/python docs/make_mutants.py $(MUTANTS)

# The wheel in an environment of its own, run from elsewhere.
wheel: $(STAMP)
	rm -rf dist .cache/wheel
	$(BIN)/python -m build --wheel --outdir dist . >/dev/null
	$(PYTHON) -m venv .cache/wheel
	.cache/wheel/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd / && $(CURDIR)/.cache/wheel/bin/slotwise compare --example headline
	cd / && $(CURDIR)/.cache/wheel/bin/python -c "import slotwise as sw; print(sw.plan(sw.load(sw.example('headline')))['job5'].start)"
	rm -rf .cache/wheel

clean:
	rm -rf $(VENV) .cache build dist *.egg-info
