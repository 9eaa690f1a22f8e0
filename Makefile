# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
BIN := .venv/bin
# Hundreds of processes are started, each of which would compile the project anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo pictures demo-serve test test-unit test-store test-system test-all lint parity audit fuzz mutate torture torture-service bench bench-against bench-scale bench-service bench-inspector bench-detection test-executorch dist test-clients test-browser test-schemathesis docs test-docs test-spark torture-spark bench-spark bench-engines demo-spark clean
.DEFAULT_GOAL := help

help: ## Show the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# What the command needs, and nothing that only developers do.
.venv/.runtime: pyproject.toml requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("tracehouse needs Python 3.11 or newer: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.txt setuptools setuptools-scm
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.txt --no-build-isolation -e '.[serve]'
	@touch $@

.venv/.installed: .venv/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

demo: .venv/.runtime ## Ingest the real dumps that ship with the project, report on them, serve their page
	@mkdir -p build
	@PATH="$(CURDIR)/$(BIN):$$PATH" tracehouse demo build/demo

pictures: .venv/.installed ## Make the pictures of documents anew, and what commands print there; needs Chromium
	$(BIN)/python -m tests.tools.pictures

demo-serve: .venv/.installed ## Serve that farm, upload to it with curl, ask it, open its page
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tests/data/demo-serve.sh

demo-spark: .venv-spark/.installed ## Take the dumps of tests/data/farm into a lake with Apache Spark, which needs Java 17
	@PATH="$(CURDIR)/.venv-spark/bin:$$PATH" sh tests/data/demo-spark.sh

# tests/support/layers.py says which layer a test is in. Each worker takes a stretch of the files, so
# that few fixtures are made twice, and helps the others.
# System tests often wait for a process, so one worker more than there are cores runs them.
MORE_WORKERS = $$(( $$(getconf _NPROCESSORS_ONLN) + 1 ))
PYTEST := $(BIN)/python -m pytest --dist worksteal -n

test: .venv/.installed ## Run unit and store tests and a smoke of the system, in two minutes on two cores
	$(PYTEST) auto -m '(not system or smoke) and not slow'

test-unit: .venv/.installed ## Run what needs no process and no database, in under a minute
	$(PYTEST) auto -m 'unit and not slow'

test-store: .venv/.installed ## Run what needs DuckDB and files but no process
	$(PYTEST) auto -m 'store and not slow'

test-system: .venv/.installed ## Run what starts processes and services
	$(PYTEST) $(MORE_WORKERS) -m 'system and not slow'

test-all: .venv/.installed ## Run all layers, slow tests and all sampled parameters too
	$(PYTEST) $(MORE_WORKERS) --hypothesis-profile thorough

lint: .venv/.installed ## Check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

parity: .venv/.installed ## Compare answers with the Inspector's, dump by dump (CORPUS=another folder)
	$(BIN)/python -m tests.tools.parity.run $(CORPUS)

# Where pyspark or Java is missing, Spark is left out, and it says so.
audit: .venv/.installed ## Compare every canned query with an independent computation, and all surfaces (ARGS="--farm plain")
	$(BIN)/python -m tests.tools.audit.run $(ARGS)

fuzz: .venv/.installed ## Decode mutants beside the reference reader (ARGS="--count 1000000")
	$(BIN)/python -m tests.tools.fuzz.run $(ARGS)

mutate: .venv/.installed ## Change modules here and there and show what their tests do not notice (ARGS="warehouse/inbox --count 40")
	$(BIN)/python -m tests.tools.mutants $(ARGS)

torture: .venv/.installed ## Run crash, corruption, full-disk and power-loss tests (RECORD=1 keeps the results)
	$(BIN)/python -m tests.tools.reliability.creation $(if $(RECORD),--record tests/tools/reliability/record.json)
	$(BIN)/python -m tests.tools.reliability.damage $(if $(RECORD),--record tests/tools/reliability/record-damage.json)
	$(BIN)/python -m tests.tools.reliability.planted_values $(if $(RECORD),--record tests/tools/reliability/record-planted-values.json)
	$(BIN)/python -m tests.tools.reliability.intake $(if $(RECORD),--record tests/tools/reliability/record-intake.json)
	$(BIN)/python -m tests.tools.reliability.upkeep $(if $(RECORD),--record tests/tools/reliability/record-upkeep.json)
	$(BIN)/python -m tests.tools.reliability.readers $(if $(RECORD),--record tests/tools/reliability/record-readers.json)
	$(BIN)/python -m tests.tools.reliability.damaged_logs $(if $(RECORD),--record tests/tools/reliability/record-damaged-logs.json)
	$(BIN)/python -m tests.tools.reliability.power_loss $(if $(RECORD),--record tests/tools/reliability/record-power-loss.json)
	$(BIN)/python -m tests.tools.reliability.crash_images $(if $(RECORD),--record tests/tools/reliability/record-crash-images.json)
	$(BIN)/python -m tests.tools.reliability.disk_faults $(if $(RECORD),--record tests/tools/reliability/record-disk-faults.json)
	$(BIN)/python -m tests.tools.reliability.model $(if $(RECORD),--record tests/tools/reliability/record-model.json)

torture-service: .venv/.installed ## Kill the service under load, and ask it hostile SQL (RECORD=1 keeps the results)
	$(BIN)/python -m tests.tools.reliability.service_kills $(if $(RECORD),--record tests/tools/reliability/record-service.json)
	$(BIN)/python -m tests.tools.reliability.hostile_sql $(if $(RECORD),--record tests/tools/reliability/record-hostile-sql.json)

torture-spark: .venv-spark/.installed ## Kill drivers and executors of Spark that fill a lake (RECORD=1 keeps the results)
	.venv-spark/bin/python -m tests.tools.reliability.spark_kills $(if $(RECORD),--record tests/tools/reliability/record-spark.json)

bench-service: .venv/.installed ## Measure the throughput of a service, and its behaviour under overload
	$(BIN)/python -m tests.tools.service.load $(if $(RECORD),tests/tools/service/record.json,build/bench-service.json)

bench-spark: .venv-spark/.installed ## Measure what Spark costs beside one process
	.venv-spark/bin/python -m tests.tools.benchmarks.spark $(if $(RECORD),tests/tools/benchmarks/record-spark.json,build/bench-spark.json)

bench: .venv/.installed ## Measure decode, ingest and queries (reports, never gates; RECORD=1 keeps it)
	$(BIN)/python -m tests.tools.benchmarks.run $(if $(RECORD),tests/tools/benchmarks/record.json,build/bench.json)

bench-against: .venv/.installed ## Measure this version and another one in turns, and print ratios (REV=COMMIT)
	$(BIN)/python -m tests.tools.benchmarks.against $(REV)

bench-scale: .venv/.installed ## Measure how queries, pages and the report grow with the fleet (ARGS=1000 devices)
	$(BIN)/python -m tests.tools.benchmarks.growth $(if $(RECORD),tests/tools/benchmarks/record-growth.json,build/bench-scale.json) $(ARGS)

bench-engines: .venv-spark/.installed ## Ask a farm of 50 M events: its store, a lake by DuckDB, a lake by Spark
	.venv-spark/bin/python -m tests.tools.benchmarks.engines $(if $(RECORD),tests/tools/benchmarks/record-engines.json,build/bench-engines.json)

bench-inspector: .venv/.installed .venv-executorch/.installed ## Measure beside ExecuTorch's Inspector
	$(BIN)/python -m tests.tools.benchmarks.inspector .venv-executorch/bin/python \
		$(if $(RECORD),tests/tools/benchmarks/record-inspector.json,build/bench-inspector.json)

bench-detection: .venv/.installed .venv-detection/.installed ## Measure false alarms and changes found, beside Apache Otava and asv
	$(BIN)/python -m tests.tools.detection.run .venv-detection/bin/python \
		$(if $(RECORD),tests/tools/detection/record.json,build/bench-detection.json) \
		$(if $(QUICK),--quick) $(ARGS)

test-executorch: .venv/.installed .venv-executorch/.installed ## Have ExecuTorch read what we write
	EXECUTORCH_PYTHON=.venv-executorch/bin/python $(BIN)/python -m pytest tests/executorch

# Where Chromium or npm is missing, tests are skipped, and say so.
test-clients: .venv/.installed ## Compile the clients of docs/examples and run them, with g++, libcurl and kotlinc
	CLIENTS=1 $(BIN)/python -m pytest -rs tests/clients

build/axe.min.js:
	mkdir -p build/axe
	-cd build/axe && npm pack --silent axe-core@4.14.1 && tar -xzf axe-core-4.14.1.tgz && cp package/axe.min.js ..

test-browser: .venv/.installed $(if $(shell command -v npm),build/axe.min.js) ## Open a report's page in headless Chromium, where there is one
	CHROMIUM="$$(command -v chromium || command -v google-chrome)" AXE="$$(ls build/axe.min.js 2>/dev/null)" \
		$(BIN)/python -m pytest -rs tests/browser

test-schemathesis: .venv/.installed .venv-schemathesis/.installed ## Ask the service all that its OpenAPI document says
	$(BIN)/python -m tests.tools.openapi.run .venv-schemathesis/bin/schemathesis

dist: .venv/.installed ## Build the wheel, its source archive and the list of its parts into dist/
	$(BIN)/python -m tests.tools.distribution

docs: .venv-docs/.installed ## Build the site of the documents into build/site
	.venv-docs/bin/properdocs build --strict

test-docs: docs ## Build it, and run its notebook (WRITE=1 keeps what the notebook prints)
	.venv-docs/bin/python -m tests.tools.site.execute $(if $(WRITE),--write)

# Where Java is missing they are skipped, and say so. In one process: a second JVM would have to load
# and compile as much again before its first answer.
test-spark: .venv-spark/.installed ## Fill and ask lakes with Apache Spark, which needs Java 17 (ALL=1 asks every query)
	.venv-spark/bin/python -m pytest -rs $(if $(ALL),,-m 'not slow') tests/spark tests/warehouse/spark

.venv-spark/.installed: pyproject.toml requirements.txt tests/spark/requirements.txt
	$(PYTHON) -m venv .venv-spark
	.venv-spark/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -r tests/spark/requirements.txt
	.venv-spark/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.venv-executorch/.installed: tests/tools/benchmarks/requirements-executorch.txt
	$(PYTHON) -m venv .venv-executorch
	.venv-executorch/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.venv-detection/.installed: tests/tools/detection/requirements.txt
	$(PYTHON) -m venv .venv-detection
	.venv-detection/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.venv-schemathesis/.installed: tests/tools/openapi/requirements.txt
	$(PYTHON) -m venv .venv-schemathesis
	.venv-schemathesis/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.venv-docs/.installed: pyproject.toml requirements.txt tests/tools/site/requirements.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check \
		-r requirements.txt -r tests/tools/site/requirements.txt
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

clean: ## Remove the environments, the caches and what the demos made
	rm -rf .venv .venv-executorch .venv-detection .venv-schemathesis .venv-docs .venv-spark .hypothesis .mypy_cache .pytest_cache .ruff_cache *.egg-info build dist
	rm -rf demo-serve.store demo.lake demo-serve.png demo-serve.log
