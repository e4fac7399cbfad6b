"""Hocket for Spack 1.0 or newer: the Python package, compiled from its sdist. See docs/deploying.md."""

import os

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyHocket(PythonPackage):
    """Collective-communication algorithms: written once, then verified, priced, simulated and run."""

    # The sdist of a release, in the working directory.
    manual_download = True
    url = f"file://{os.getcwd()}/hocket-0.1.0.tar.gz"

    license("Apache-2.0")

    version("0.1.0")

    variant("mpi", default=True, description="Run algorithms in MPI programs, and sweeps on the ranks of an MPI job")
    variant("chakra", default=False, description="Read and write execution traces of Chakra")
    variant("dask", default=False, description="Run sweeps on Dask")
    variant("fit", default=False, description="Fit machine files to measured collectives")
    variant("parquet", default=False, description="Write tables of sweeps as Parquet files")
    variant("serve", default=False, description="Serve the explorer in the browser")

    with default_args(type="build"):
        depends_on("c")
        depends_on("rust@1.88:")
        depends_on("py-maturin@1.9:1")
        depends_on("gmake", when="+mpi")

    with default_args(type=("build", "run")):
        depends_on("python@3.10:")

    with default_args(type="run"):
        depends_on("py-click@8.1:")
        depends_on("py-rich@13:")
        depends_on("py-numpy@1.26:")
        depends_on("py-altair@5.5:")
        depends_on("py-vl-convert-python@1.7:")
        depends_on("py-tomli@2:", when="^python@:3.10")

        depends_on("mpi", when="+mpi")
        depends_on("py-mpi4py@4:", when="+mpi")
        depends_on("py-protobuf@5:", when="+chakra")
        depends_on("py-distributed@2024.1:", when="+dask")
        depends_on("py-scipy@1.11:", when="+fit")
        depends_on("py-pyarrow@15:", when="+parquet")
        depends_on("py-starlette@0.46:", when="+serve")
        depends_on("py-uvicorn@0.34:", when="+serve")

    @run_before("install", when="+mpi")
    def make_library(self):
        """Compile the library that MPI programs preload; the wheel contains it."""
        with working_dir(self.stage.source_path):
            make("library")
