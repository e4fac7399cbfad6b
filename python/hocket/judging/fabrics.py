"""Classes of fabrics, and the bandwidths that benchmarks reach on them.

The tables are `fabrics.csv` and `gpus.csv`. Every row names the public documents or threads that its numbers are from.
A number that no source gives is left out. Where the least bandwidth is left out, a fabric reaches its greatest one
within `_USUAL_SPREAD`.
"""

from __future__ import annotations

from dataclasses import dataclass

from hocket.base.files import read_rows

_USUAL_SPREAD = 1.25
"""NIC bandwidths of 20 to 24 GB/s both pass as normal: https://github.com/NVIDIA/nccl-tests/issues/160."""


@dataclass(frozen=True)
class Fabric:
    """A class of fabrics, such as "200 Gbit/s InfiniBand/RoCE", and what benchmarks reach with one card or GPU."""

    name: str
    kind: str  # "tcp", "rdma", "efa", "slingshot", "omni-path", "nvlink", "xgmi", "pcie" or "shm"
    lowest_bytes_per_s: float  # of the bus
    highest_bytes_per_s: float
    lowest_latency_s: float | None  # of a small message; None where no source gives it
    highest_latency_s: float | None


@dataclass(frozen=True)
class GpuModel:
    """A model of GPUs, such as "H100", and the bus bandwidth of an allreduce on those of a node."""

    name: str
    form: str  # "SXM", "OAM" or "PCIe"
    fabric: str  # the name of what connects the GPUs of a node
    lowest_bytes_per_s: float
    highest_bytes_per_s: float
    card_gbit_per_s: int  # where each has its own network card in all nodes; otherwise 0


def _range(row: dict[str, str]) -> tuple[float, float]:
    highest = float(row["highest_gb_per_s"]) * 1e9
    return float(row["lowest_gb_per_s"] or 0) * 1e9 or highest / _USUAL_SPREAD, highest


def _fabric(row: dict[str, str]) -> Fabric:
    latencies_us = (row[f"{end}_latency_us"] for end in ("lowest", "highest"))
    return Fabric(row["name"], row["kind"], *_range(row), *(float(us) * 1e-6 if us else None for us in latencies_us))


FABRICS = tuple(map(_fabric, read_rows(__file__, "fabrics.csv")))  # the classes of fabrics, in the order of their table

GPU_MODELS = tuple(
    GpuModel(row["model"], row["form"], row["fabric"], *_range(row), int(row["card_gbit_per_s"] or 0))
    for row in read_rows(__file__, "gpus.csv")
)
"""The models of GPUs, in the order of their table."""


def gpu_model(name: str, form: str = "") -> GpuModel | None:
    """Return the model of a name; None if its bandwidth is not known, as where its form is another one."""
    return next((one for one in GPU_MODELS if one.name == name and form in ("", one.form)), None)


def card_fabric(kind: str, gbit_per_s: int) -> Fabric | None:
    """Return the class of network cards of a kind and a rate; None if there is none."""
    start = f"{gbit_per_s} Gbit/s "
    return next((one for one in FABRICS if one.kind == kind and one.name.startswith(start)), None)


def fitting_fabrics(bytes_per_s: float, kinds: tuple[str, ...]) -> tuple[Fabric, ...]:
    """Return the fabrics of some kinds on which benchmarks reach a bus bandwidth."""
    of_kinds = (one for one in FABRICS if one.kind in kinds)
    return tuple(one for one in of_kinds if one.lowest_bytes_per_s <= bytes_per_s <= one.highest_bytes_per_s)
