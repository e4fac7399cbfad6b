"""MPIs by their own names."""

from __future__ import annotations

from pathlib import Path

import pytest

from hocket.definitions.mpi_products import FAMILIES, PRODUCTS, product_in
from hocket.mpi.installing import name_of

NAMES = [
    ("MPICH Version:\t3.4.2", "mpich", "3.4.2"),
    ("MPICH Version:      5.0.2", "mpich", "5.0.2"),
    ("Open MPI v5.0.0rc12, package: Open MPI root@builder Distribution, ident: 5.0.0rc12", "openmpi", "5.0.0rc12"),
    ("Open MPI v3.1.0, package: IBM Spectrum MPI, ident: 10.03.01.00rtm0, repo rev", "spectrum", "10.03.01.00rtm0"),
    ("Intel(R) MPI Library 2019 Update 4 for Linux* OS", "intelmpi", "2019 Update 4"),
    ("Intel(R) MPI Library 2021.18.1 for Linux* OS", "intelmpi", "2021.18.1"),
    ("MVAPICH2 Version      :\t2.3.6", "mvapich", "2.3.6"),
    ("MVAPICH Version:      4.0", "mvapich", "4.0"),
    ("MPI VERSION    : CRAY MPICH version 8.1.27.26 (ANL base 3.4a2)", "craympich", "8.1.27.26"),
    ("FUJITSU MPI Library 4.0.0 (4.0.1fj4.0.0)", "fujitsu", "4.0.0"),
    ("HPE MPT 2.23  08/26/20 02:54:49-root", "mpt", "2.23"),
    ("HPE HMPT 2.23  08/26/20 02:59:48-root", "hmpt", "2.23"),
]
"""What libraries call themselves, and what they are."""

MENTIONS = [
    ("[0] MPI startup(): Intel(R) MPI Library, Version 2021.9  Build 20230307", "intelmpi", "2021.9"),
    ("module load cray-mpich/8.1.27", "craympich", "8.1.27"),
    ("module load impi/2021.6", "intelmpi", "2021.6"),
    ("mpirun (Open MPI) 4.1.4", "openmpi", "4.1.4"),
    ("openmpi-5.0.3", "openmpi", "5.0.3"),
]
"""What logs and users write."""


@pytest.mark.parametrize(("text", "product", "version"), [*NAMES, *MENTIONS])
def test_a_text_names_one_product(text: str, product: str, version: str) -> None:
    found = product_in(text)
    assert found is not None and (found[0].name, found[1]) == (product, version)
    others = [one.name for one in PRODUCTS.values() if one.expression.search(text)]
    assert others == [product]


@pytest.mark.parametrize("text", ["# Intel(R) MPI Benchmarks 2021.3, MPI-1 part", "MPIwrapper Version: 2.2.2", ""])
def test_a_text_without_a_product(text: str) -> None:
    assert product_in(text) is None


@pytest.mark.parametrize(("text", "product", "version"), NAMES)
def test_an_installed_library_is_named_after_its_mpi(text: str, product: str, version: str) -> None:
    assert name_of(text) == f"{product}-{version.replace(' ', '-')}"


def test_every_product_is_in_the_page_for_sites() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sites.md").read_text()
    assert [name for name in PRODUCTS if f"| `{name}` |" not in page] == []


def test_families_are_known() -> None:
    assert {one.family for one in PRODUCTS.values()} == {"mpich", "openmpi", ""} <= {*FAMILIES, ""}
