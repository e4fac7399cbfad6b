"""The tables of fabrics and GPUs."""

import pytest

from hocket.base.files import read_rows
from hocket.judging.fabrics import FABRICS, GPU_MODELS, Fabric, GpuModel, card_fabric, fitting_fabrics, gpu_model
from hocket.judging.fabrics import __file__ as fabrics_file


def test_rows_have_sources_and_sensible_numbers() -> None:
    for name in ("fabrics.csv", "gpus.csv"):
        for row in read_rows(fabrics_file, name):
            assert row["source"], row
            assert all(source.startswith("https://") for source in row["source"].split()), row
            nominal_gb_per_s = row.get("nominal_gb_per_s")
            assert not nominal_gb_per_s or float(row["highest_gb_per_s"]) <= 1.07 * float(nominal_gb_per_s), row
    rows: list[Fabric | GpuModel] = [*FABRICS, *GPU_MODELS]
    for one in rows:
        assert 0 < one.lowest_bytes_per_s < one.highest_bytes_per_s, one
    for fabric in FABRICS:
        assert fabric.lowest_latency_s is None or 0 < fabric.lowest_latency_s <= (fabric.highest_latency_s or 0)


def test_names_are_unique() -> None:
    assert len({one.name for one in FABRICS}) == len(FABRICS)
    assert {one.fabric for one in GPU_MODELS} <= {one.name for one in FABRICS}


@pytest.mark.parametrize(("kind", "rate", "highest"), [("rdma", 100, 12e9), ("rdma", 200, 24e9), ("tcp", 25, 2.6e9)])
def test_cards_by_their_rate(kind: str, rate: int, highest: float) -> None:
    fabric = card_fabric(kind, rate)
    assert fabric is not None
    assert fabric.highest_bytes_per_s == highest
    assert card_fabric(kind, 7) is None


def test_fitting_fabrics() -> None:
    assert [one.name for one in fitting_fabrics(11.5e9, ("rdma",))] == ["100 Gbit/s InfiniBand/RoCE"]
    assert fitting_fabrics(1e3, ("rdma", "tcp")) == ()


def test_gpus_have_the_bandwidth_of_their_form() -> None:
    model = gpu_model("H100", "SXM")
    assert model is not None
    assert model.fabric == "NVLink 4"
    assert gpu_model("H100", "PCIe") is None
    assert gpu_model("other") is None
