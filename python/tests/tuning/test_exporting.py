"""Tuning files of MPIs: the decisions in their words, without decisions that the format cannot express."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from hocket.rules.tuning_files.activation import environment_of, settings_of
from hocket.rules.tuning_files.deciding import deciding_rule, situation
from hocket.rules.tuning_files.formats import read
from hocket.tuning.choice import DEFAULT, Choice, Decision, Estimate, Point
from hocket.tuning.exporting import Exporter, exporter_for, file_name
from hocket.tuning.records import PointRecord
from hocket.tuning.report import Tuning

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
    file = folder / file_name(one.format)
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


def of_han(function: str, number: int) -> Choice:
    return Choice("mpi", "any name", ((f"coll_han_use_{function}_algorithm", number),))


def test_where_only_flat_algorithms_win_there_is_no_file_of_han() -> None:
    one = exporter(OPEN_MPI)
    flat = [Decision("broadcast", (16, 17), (8, 4096), open_mpi("bcast", 6))]
    assert [each.name for each in one.texts(flat, has_levels=True)] == ["openmpi-5.0"]
    assert [each.name for each in one.texts(flat, has_levels=False)] == ["openmpi-5.0"]
    assert one.texts([Decision("broadcast", (16, 17), (8, 4096), DEFAULT)], has_levels=True) == {}


def test_where_levels_win_too_han_gives_the_other_calls_to_tuned(tmp_path: Path) -> None:
    decisions = [
        Decision("broadcast", (8, 16), (8, 4096), open_mpi("bcast", 6)),  # communicators of HAN may have 8 ranks
        Decision("broadcast", (16, 17), (8, 64), of_han("bcast", 2)),
        Decision("broadcast", (16, 17), (64, 4096), open_mpi("bcast", 6)),
        Decision("barrier", (16, 17), (0, 1), open_mpi("barrier", 4)),
        Decision("allreduce", (16, 17), (8, 4096), DEFAULT),
        Decision("alltoall", (8, 16), (8, 64), open_mpi("alltoall", 2)),
    ]
    texts = exporter(OPEN_MPI).texts(decisions, has_levels=True)
    said = {}
    for format, text in texts.items():
        rules = format.read(text, "written")
        for function, ranks, size in product(("bcast", "barrier", "alltoall"), (8, 16), (0, 8, 64)):
            rule = deciding_rule(rules, situation(function, ranks, size, ranks_per_node=4))
            if rule is not None and rule.choice is not None:
                said[format.name, function, ranks, size] = str(rule.choice)
    han = {key[1:]: choice for key, choice in said.items() if key[0] == "openmpi-5.0-han" and choice != "han"}
    assert han == {
        **{("bcast", 16, 8): "han @simple", ("bcast", 16, 64): "tuned"},
        **{("barrier", 16, size): "tuned" for size in (0, 8, 64)},
    }
    tuned = {key[1:]: choice for key, choice in said.items() if key[0] == "openmpi-5.0"}
    assert tuned == {
        **{("bcast", 16, 64): "binomial", ("alltoall", 8, 8): "pairwise"},
        **{("barrier", 16, size): "bruck" for size in (0, 8, 64)},
    }


def test_files_of_other_numbers_of_an_mpi_know_no_han() -> None:
    point = Point("broadcast", 16, 64)
    assert exporter(OPEN_MPI).can_name(point, of_han("bcast", 2))
    assert not exporter(OPEN_MPI).can_name(point, of_han("bcast", 3))  # there is no such algorithm
    assert not exporter(OPEN_MPI.replace("5.0", "6.0")).can_name(point, of_han("bcast", 2))


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
    texts = one.texts([Decision("allreduce", (2, 9), (1024, 4096), ring)], has_levels=False)
    assert one.format.paths("own.json").keys() == {"own.json", "own.device.json"}
    assert [file_name(each) for each in texts] == ["own.mpich-5.0.json", "own.mpich-5.0.device.json"]
    file = tmp_path / "own.mpich-5.0.device.json"
    file.write_text([*texts.values()][1])
    chosen = {
        size: str(rule.choice)
        for size in (1023, 1024, 4095, 4096)
        if (rule := deciding_rule(read(file), situation("allreduce", 8, size, ranks_per_node=4)))
    }
    begin = "MPIDI_Allreduce_intra_composition_"
    assert chosen == {1023: f"{begin}alpha", 1024: f"{begin}beta", 4095: f"{begin}beta", 4096: f"{begin}alpha"}
    line = environment_of(settings_of({file_name(each): each for each in texts}, ["allreduce"]))
    assert line.endswith("MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE=own.mpich-5.0.device.json")
    assert len(one.texts([Decision("allgather", (2, 9), (8, 64), mpich("allgather", "ring"))], has_levels=False)) == 1


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


def tuning(own: tuple[Decision, ...], measured: Choice) -> Tuning:
    """Return a tuning in which a choice was measured at a point."""
    record = PointRecord(Point("broadcast", 16, 64), {measured: Estimate.exact(1.0)})
    nothing = {
        "decisions": (Decision("broadcast", (16, 17), (8, 64), DEFAULT),),
        "confirming": (),
        "regrets": (),
        "own_regrets": (),
    }
    quality = {"tolerance": 0.03, "judging_noise": 0.0, "left_out": 0}
    return Tuning(about={}, own=own, records=(record,), exporter=exporter(OPEN_MPI), **nothing, **quality)  # type: ignore[arg-type]


def test_parameters_beside_the_files_of_open_mpi_make_it_take_them(tmp_path: Path) -> None:
    flat = Decision("broadcast", (16, 17), (64, 4096), open_mpi("bcast", 6))
    for own, measured in [((flat,), DEFAULT), ((flat,), of_han("bcast", 2))]:
        tuning(own, measured).write(tmp_path)
        assert {file.name for file in tmp_path.glob("own.*")} == {"own.openmpi-5.0.conf", "own.mca-params.conf"}
        assert "coll_han_priority = 0" in (tmp_path / "own.mca-params.conf").read_text()
    levels = Decision("broadcast", (16, 17), (8, 64), of_han("bcast", 2))
    both = tuning((levels, flat), of_han("bcast", 2))
    both.write(tmp_path)
    names = ["own.mca-params.conf", "own.openmpi-5.0-han.conf", "own.openmpi-5.0.conf"]
    assert sorted(file.name for file in tmp_path.glob("own.*")) == names
    assert (tmp_path / names[0]).read_text().splitlines()[1:] == [
        "coll_tuned_use_dynamic_rules = 1",
        f"coll_tuned_dynamic_rules_filename = {tmp_path / names[2]}",
        "coll_han_use_dynamic_file_rules = 1",
        f"coll_han_dynamic_rules_filename = {tmp_path / names[1]}",
    ]
    tuning((), DEFAULT).write(tmp_path)
    assert not [*tmp_path.glob("own.*")]
