# `make` lists the targets. Everything is installed into .venv, and compiled kernels into refinery/kernels/built; of what is
# outside of the checkout only temporary files and pip's cache are changed.
PYTHON ?= python3
VENV := .venv
export REFINERY_CACHE_DIR ?= $(CURDIR)/$(VENV)/cache
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
# pip where there is no uv, or uv is not configured for the user's package index
install = $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python $(1) || )$(BIN)/python -m pip install --quiet $(1)
CORPUS ?=
DATA_JUICER ?=
DATATROVE ?=
DAFT ?=
RENSA ?=
BENCH ?=

.PHONY: help setup kernels demo test test-versions lint golden docs bench bench-recipe bench-dedup bench-models bench-limits bench-ablation bench-fineweb bench-fusion bench-stats bench-stats-merge bench-forecast bench-substring quality contamination scale-study soak clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Modules of kernels that the demo's recipe, its reader and its writer call. The others are built with `make kernels`.
DEMO_KERNELS := core.charmap json.jsoncheck json.jsonsplice json.jsontext text.emails text.lines text.links text.profile \
	text.repetition unicode.unicode_fixes words.word_repetition words.words
BUILD := hatchling editables llvmlite numba numpy psutil pyarrow regex ftfy selectolax

# The core alone: `make demo` waits for no package of the extras. Its kernels are built while the rest is installed.
$(VENV)/core: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "refinery needs Python 3.11 or newer; run make PYTHON=python3.11")'
	$(if $(UV),$(UV) venv --quiet --allow-existing --seed --python $(PYTHON) $(VENV),$(PYTHON) -m venv $(VENV))
	$(call install,$(BUILD))
	$(BIN)/python -m refinery.kernels.build $(DEMO_KERNELS) & \
		(export REFINERY_BUILD_PACKAGES=none; $(call install,--no-build-isolation -e .)) && wait $$!
	@touch $@

# Some packages of the extras are built from source, with tools of their own.
$(VENV)/ready: $(VENV)/core
	export REFINERY_BUILD_PACKAGES=none; $(call install,-e '.[dev]')
	@touch $@

kernels: $(VENV)/core  ## Build the kernels of modules that have changed
	$(BIN)/python -m refinery.kernels.build

setup: $(VENV)/ready  ## Create the virtual environment

# The oldest DuckDB that databases of runs are tested with.
$(VENV)/old-duckdb: $(VENV)/core
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $@.new 'duckdb==1.4.*' && rm -rf $@ && mv $@.new $@

demo: $(VENV)/core  ## Run a real recipe on the bundled documents and show what happened to them
	$(BIN)/refinery run recipes/web_sample.yaml --show

PYTEST := -q -n auto --maxprocesses 8 --dist loadfile
# Recorded results of the peers: all tests use those in tests/conformance/own; then a larger set, where it is at hand.
CONFORMANCE := $(or $(REFINERY_CONFORMANCE),$(wildcard ../shared/conformance))
# Files whose tests compare with them; the others need not be read again to find that out.
RECORDED = tests/conformance $(shell grep -rl --include='test_*.py' -i recorded tests | grep -v '^tests/conformance/')

# Sources are compiled first: tests start hundreds of processes, and where Python may not write bytecode each would compile them.
# pytest itself writes what it has made of the tests, three quarters of the time that it takes to find them.
test: $(VENV)/ready $(VENV)/old-duckdb kernels lint  ## Run every check and test
	$(BIN)/python -m compileall -q refinery udfs
	env -u REFINERY_CONFORMANCE -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest $(PYTEST)
	$(if $(CONFORMANCE),env -u PYTHONDONTWRITEBYTECODE REFINERY_CONFORMANCE=$(abspath $(CONFORMANCE)) \
		$(BIN)/python -m pytest $(PYTEST) -m 'recorded and not long' $(RECORDED))

test-versions:  ## Test with the oldest and newest libraries, by each Python that is here (ONLY=3.11-oldest)
	$(PYTHON) .ci/versions.py $(ONLY)

SECONDS ?= 3600
soak: $(VENV)/ready  ## Hold resumed runs against fresh ones for an hour (SECONDS=); run the tests marked long, and all random examples
	REFINERY_SOAK_RAY=1 REFINERY_SOAK_SECONDS=$(SECONDS) REFINERY_SOAK_SEED=$${REFINERY_SOAK_SEED:-$$(date +%s)} \
		$(BIN)/python -m pytest -q -x -s -m long tests/soak
	REFINERY_ALL_EXAMPLES=1 $(BIN)/python -m pytest -q -m "long or hypothesis"

lint: $(VENV)/ready  ## Style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

golden: $(VENV)/ready  ## Rewrite the reviewed SQL in tests/golden after a wanted change
	UPDATE_GOLDEN=1 $(BIN)/python -m pytest -q tests/compiler/test_golden.py

docs: $(VENV)/ready  ## Rewrite docs/operators.md, docs/peer-names.md, docs/sql-functions.md, the tables of keys in docs/recipes.md and recipes/schema.json
	$(BIN)/refinery ops --markdown > docs/operators.md
	$(BIN)/python -m refinery.cli.render.key_tables docs/recipes.md
	$(BIN)/python -m refinery.cli.render.peer_page > docs/peer-names.md
	$(BIN)/python -m refinery.cli.render.sql_functions_page > docs/sql-functions.md
	$(BIN)/refinery schema > recipes/schema.json

# A .jsonl corpus is measured as it is, a .parquet one is converted (and repeated up to 300 MB), none is generated.
MEASURED := $(if $(filter %.jsonl,$(CORPUS)),$(CORPUS),bench/data/$(if $(CORPUS),$(basename $(notdir $(CORPUS))),synthetic).jsonl)

bench: bench-recipe bench-dedup  ## Measure speed and memory, beside the peers that are named (all of the variables below)

bench-recipe: $(VENV)/ready  ## Measure a recipe (RECIPE=file.yaml, CORPUS=file.parquet|jsonl, DATA_JUICER=path of dj-process, PEER="name=command")
	$(if $(filter %.jsonl,$(CORPUS)),,$(BIN)/python bench/corpus.py $(MEASURED) $(if $(CORPUS),--parquet $(CORPUS)))
	$(BIN)/python bench/run.py --corpus $(MEASURED) $(if $(RECIPE),--recipe "$(RECIPE)") \
		$(if $(DATA_JUICER),--data-juicer "$(DATA_JUICER)") $(if $(PEER),--peer "$(PEER)")

# As above, but a .parquet corpus is repeated with altered words, so that its copies are no duplicates. BENCH= is passed on.
DEDUPED := $(if $(filter %.jsonl,$(CORPUS)),$(CORPUS),bench/data/$(if $(CORPUS),$(basename $(notdir $(CORPUS)))-copies,synthetic).jsonl)

bench-dedup: $(VENV)/ready  ## Measure deduplication (CORPUS=, DATA_JUICER=, and the pythons DATATROVE= DAFT= RENSA=)
	$(if $(filter %.jsonl,$(CORPUS)),,$(BIN)/python $(if $(CORPUS),bench/copies.py $(CORPUS) $(DEDUPED),bench/corpus.py $(DEDUPED)))
	$(BIN)/python bench/dedup.py --corpus $(DEDUPED) $(if $(DATA_JUICER),--data-juicer "$(DATA_JUICER)") \
		$(if $(DATATROVE),--datatrove "$(DATATROVE)") $(if $(DAFT),--daft "$(DAFT)") $(if $(RENSA),--rensa "$(RENSA)") $(BENCH)

bench-models: $(VENV)/ready  ## Measure kernels of models beside their libraries (CORPUS=file.parquet|jsonl; BENCH="--only kenlm")
	$(if $(CORPUS),,$(BIN)/python bench/corpus.py $(MEASURED))
	$(BIN)/python -m bench.models --corpus $(if $(CORPUS),$(CORPUS),$(MEASURED)) $(BENCH)

bench-web: $(VENV)/ready  ## Measure pages a second from WARC (ARCHIVE=file.warc.gz or folder of .html, DATATROVE=path of a python that has it; BENCH="--count 4000")
	$(BIN)/python bench/web.py --work bench/results/web $(if $(ARCHIVE),--pages $(ARCHIVE)) \
		$(if $(DATATROVE),--datatrove "$(DATATROVE)") $(BENCH)

bench-stats-merge: $(VENV)/ready  ## Measure merging statistics files (DATATROVE=path of a python that has it; BENCH="--keys 100000 --distinct 20")
	$(BIN)/python bench/stats_merge.py $(if $(DATATROVE),--datatrove "$(DATATROVE)") $(BENCH)

bench-fineweb: $(VENV)/ready  ## Measure FineWeb's filters (CORPUS=file.parquet|jsonl, DATATROVE=path of a python that has it and spaCy)
	$(if $(CORPUS),,$(BIN)/python bench/corpus.py $(MEASURED))
	$(BIN)/python bench/fineweb.py --corpus $(or $(CORPUS),$(MEASURED)) $(if $(DATATROVE),--datatrove "$(DATATROVE)") $(BENCH)

bench-fusion: $(VENV)/ready  ## Measure what moved filters and adapted batches save (CORPUS=file.jsonl)
	$(if $(filter %.jsonl,$(CORPUS)),,$(BIN)/python bench/corpus.py $(MEASURED) $(if $(CORPUS),--parquet $(CORPUS)))
	$(BIN)/python bench/fusion.py --corpus $(MEASURED) $(BENCH)

bench-limits: $(VENV)/ready  ## Measure the recipe of bench-recipe against reading, writing and copying alone, and one worker (CORPUS=, BENCH="--recipe file.yaml")
	$(if $(filter %.jsonl,$(CORPUS)),,$(BIN)/python bench/corpus.py $(MEASURED) $(if $(CORPUS),--parquet $(CORPUS)))
	$(BIN)/python bench/limits.py --corpus $(MEASURED) $(BENCH)

bench-ablation: $(VENV)/ready  ## Measure runs without cuts, streaming and columns of match keys (CORPUS=file.parquet|jsonl, BENCH="--megabytes 200")
	$(if $(filter %.jsonl,$(CORPUS)),,$(BIN)/python bench/corpus.py $(MEASURED) $(if $(CORPUS),--parquet $(CORPUS)))
	$(BIN)/python -m bench.ablation $(MEASURED) $(BENCH)

bench-stats: $(VENV)/ready  ## Measure statistics (CORPUS=file.parquet|jsonl, DATATROVE=path of a python that has it and spaCy)
	$(if $(filter %.jsonl,$(CORPUS)),,$(BIN)/python bench/corpus.py $(MEASURED) $(if $(CORPUS),--parquet $(CORPUS)))
	$(BIN)/python bench/stats.py --corpus $(MEASURED) $(if $(DATATROVE),--datatrove "$(DATATROVE)") $(BENCH)

bench-forecast: $(VENV)/ready  ## Measure forecasts of ten recipes beside their runs (CORPUS=file.parquet|jsonl, BENCH="--only c4_like --rounds 3")
	$(if $(CORPUS),,$(BIN)/python bench/corpus.py $(MEASURED))
	$(BIN)/python -m bench.forecast $(if $(CORPUS),$(CORPUS),$(MEASURED)) $(BENCH)

bench-substring: $(VENV)/ready  ## Measure repeated substrings (CORPUS=file.parquet|jsonl, BENCH="--times 12 --memory 500MB --np 2" or "--megabytes 32 --suffix-array")
	$(if $(CORPUS),,$(BIN)/python bench/corpus.py $(MEASURED))
	$(BIN)/python -m bench.substring $(if $(CORPUS),$(CORPUS),$(MEASURED)) $(BENCH)

# The study takes a corpus of 1,050 MB; a smaller one is repeated with altered words.
STUDIED := bench/data/$(if $(CORPUS),$(basename $(notdir $(CORPUS)))-study,synthetic-study).jsonl

scale-study: $(VENV)/ready  ## Measure how time grows with data and workers; rewrite the tables and plot in docs/scaling-study.md
	$(BIN)/python $(if $(CORPUS),bench/copies.py $(CORPUS) $(STUDIED),bench/corpus.py $(STUDIED)) --megabytes 1050
	$(BIN)/python -m bench.scale $(STUDIED) --write $(BENCH)

quality: $(VENV)/ready  ## Measure recall and precision of deduplicators; rewrite the tables and plot in docs/near-duplicates.md
	$(BIN)/python -m pip install --quiet 'matplotlib>=3.8'
	$(BIN)/python -m bench.quality --write

contamination: $(VENV)/ready  ## Measure recall and precision of contamination_filter; rewrite the tables in docs/contamination.md
	$(BIN)/python -m bench.contamination --write

clean:  ## Remove the virtual environment and what `make demo` and `make bench` have written
	rm -rf $(VENV) refinery/kernels/built outputs/web_sample bench/results bench/data
