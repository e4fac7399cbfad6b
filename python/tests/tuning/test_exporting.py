"""Tuning files of MPIs: the decisions in their words, without decisions that the format cannot express."""

from __future__ import annotations

from pathlib import Path

import pytest

from hocket.rules.tuning_files.deciding import deciding_rule, situation
from hocket.rules.tuning_files.formats import read
from hocket.tuning.choice import DEFAULT, Choice, Decision, Point
from hocket.tuning.exporting import Exporter, exporter_for

OPEN_MPI, MPICH = "Open MPI v5.0.11, package: x", "MPICH Version:      5.0.2"


def exporter(library: str) -> Exporter:
    found = exporter_for(library)
    assert found is not None
    return found


def open_mpi(function: str, number: int, segment: int | None = None) -> Choice:
    name = f"coll_tuned_{function}_algorithm"
    more = ((f"{name}_segmentsize", segment),) if segment else ()
    return Choice("mpi", "any name", ((name, number), *more))


def mpich(function: str, name: str) -> Choice:
    return Choice("mpi", name, ((f"MPIR_CVAR_{function.upper()}_INTRA_ALGORITHM", 1),))


def told(one: Exporter, decisions: list[Decision], folder: Path, function: str, ranks: int, size: int) -> str | None:
    """Return the choice of a file for a call."""
    text = one.text(decisions)
    assert text is not None
    file = folder / one.file_name
    file.write_text(text)
    rule = deciding_rule(read(file), situation(function, ranks, size))
    return str(rule.choice) if rule and rule.choice else None


def test_open_mpi_is_told_algorithms_and_segments_by_what_its_sizes_count(tmp_path: Path) -> None:
    decisions = [
        Decision("broadcast", (2, 5), (1024, 4096), open_mpi("bcast", 3, 8192)),
        Decision("allgather", (2, 5), (16, 64), open_mpi("allgather", 4)),
        Decision("allgather", (2, 5), (64, 128), DEFAULT),
    ]
    one = exporter(OPEN_MPI)
    said = {(f, n, s): told(one, decisions, tmp_path, f, n, s) for f, n, s in [
        ("bcast", 2, 1023), ("bcast", 2, 1024), ("bcast", 4, 4095), ("bcast", 4, 4096),
        ("allgather", 3, 15), ("allgather", 3, 16), ("allgather", 4, 63), ("allgather", 4, 64), ("allgather", 2, 64),
    ]}  # fmt: skip
    taken = [call for call, choice in said.items() if choice]
    assert taken == [("bcast", 2, 1024), ("bcast", 4, 4095), ("allgather", 3, 16), ("allgather", 4, 63)]
    assert said["bcast", 2, 1024] == "pipeline, seg_size=8192" and said["allgather", 4, 63] == "ring"


def test_mpich_is_told_algorithms_with_what_they_need(tmp_path: Path) -> None:
    decisions = [
        Decision("allreduce", (2, 5), (8, 1024), mpich("allreduce", "recursive_doubling")),
        Decision("broadcast", (2, 3), (8, 1024), mpich("bcast", "binomial")),
    ]
    one = exporter(MPICH)
    assert told(one, decisions, tmp_path, "allreduce", 4, 1023) == "MPIR_Allreduce_intra_recursive_doubling"
    assert told(one, decisions, tmp_path, "bcast", 2, 8) == "MPIR_Bcast_intra_binomial"
    assert told(one, decisions, tmp_path, "bcast", 2, 7) is None or "binomial" in str(
        told(one, decisions, tmp_path, "bcast", 2, 7)
    )


def test_the_device_of_mpich_is_told_to_pass_on_what_a_file_decides(tmp_path: Path) -> None:
    one, ring = exporter(MPICH), mpich("allreduce", "ring")
    file = tmp_path / one.device_file_name
    file.write_text(one.device_text([Decision("allreduce", (2, 9), (1024, 4096), ring)]))
    chosen = {
        size: str(rule.choice)
        for size in (1023, 1024, 4095, 4096)
        if (rule := deciding_rule(read(file), situation("allreduce", 8, size, ranks_per_node=4)))
    }
    begin = "MPIDI_Allreduce_intra_composition_"
    assert chosen == {1023: f"{begin}alpha", 1024: f"{begin}beta", 4095: f"{begin}beta", 4096: f"{begin}alpha"}
    line = one.line("own.json", [Decision("allreduce", (2, 9), (1024, 4096), ring)])
    assert line.endswith("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE=own.device.json")
    assert one.device_text([Decision("allgather", (2, 9), (8, 64), mpich("allgather", "ring"))]) == ""
    assert exporter(OPEN_MPI).device_text([Decision("allreduce", (2, 9), (8, 64), open_mpi("allreduce", 4))]) == ""


def test_what_files_have_no_place_for_is_not_named() -> None:
    point = Point("allreduce", 2, 64)
    assert exporter(MPICH).can_name(point, mpich("allreduce", "ring"))
    assert exporter(MPICH).can_name(point, Choice("catalogue", "ring")) and exporter(MPICH).can_name(point, DEFAULT)
    assert not exporter(MPICH).can_name(point, mpich("allreduce", "recexch"))  # needs parameters
    assert not exporter(OPEN_MPI).can_name(point, open_mpi("allreduce", 99))


@pytest.mark.parametrize("library", [OPEN_MPI, MPICH])
def test_without_a_gain_there_is_no_file(library: str) -> None:
    one = exporter(library)
    assert one.text([Decision("allreduce", (2, 3), (8, 64), DEFAULT)]) is None and one.text([]) is None


def test_of_other_mpis_no_format_is_known() -> None:
    assert exporter_for("Some MPI 1.2.3") is None and exporter_for("MPICH Version: 2.0.1") is None
