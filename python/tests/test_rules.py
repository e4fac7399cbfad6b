"""Rules that choose algorithms, in Python."""

from pathlib import Path

import pytest

import hocket
from hocket.rules.choosing import rules_text


def test_rules_choose_an_algorithm_with_its_parameters() -> None:
    rules = "alltoall[size=..1KiB, ranks=power_of_two]: linear, window=3\nalltoall[total=8KiB..]: bruck"
    chosen = hocket.choose(rules, "alltoall", hocket.Call(ranks=8, size_bytes=64, root=0))
    assert chosen is not None
    assert (chosen[0].name, chosen[1].parameters["window"], chosen[1].size_bytes) == ("linear", 3, 64)
    by_total = hocket.choose(rules, "alltoall", hocket.Call(ranks=6, size_bytes=2048))
    assert by_total is not None
    assert by_total[0].name == "bruck"
    assert hocket.choose(rules, "alltoall", hocket.Call(ranks=6, size_bytes=64)) is None


def test_what_is_chosen_can_be_simulated() -> None:
    for rules in hocket.LIBRARY_RULES.values():
        chosen = hocket.choose(rules, "reduce", hocket.Call(ranks=7, size_bytes=1 << 20))
        assert chosen is not None
        assert hocket.simulate(*chosen).time_s.mean > 0


@pytest.mark.parametrize("name", hocket.LIBRARY_RULES)
@pytest.mark.parametrize("collective", ["allgather", "allreduce", "alltoall", "broadcast", "gather", "reduce_scatter"])
def test_a_library_has_a_choice_for_usual_calls_or_says_that_it_is_not_in_the_catalogue(
    name: str, collective: str
) -> None:
    rules = hocket.LIBRARY_RULES[name]
    left_out = 0
    for ranks in range(2, 70):
        for size_bytes in (0, 1, 8, 1000, 1 << 16, 1 << 22):
            left_out += hocket.choose(rules, collective, hocket.Call(ranks=ranks, size_bytes=size_bytes)) is None
    assert left_out == 0 or (name, collective) == ("openmpi-5.0", "reduce_scatter")


def test_a_bad_rule_or_call_is_one_line() -> None:
    with pytest.raises(hocket.Error, match=r"^rules:1: unknown allreduce algorithm"):
        hocket.choose("allreduce: rings", "allreduce", hocket.Call(ranks=4, size_bytes=8))
    with pytest.raises(hocket.Error, match=r"^ranks: got 0"):
        hocket.choose("", "allreduce", hocket.Call(ranks=0, size_bytes=8))


def test_a_file_comes_before_a_library_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert rules_text("mpich-5.0") == hocket.LIBRARY_RULES["mpich-5.0"]
    Path("mpich-5.0").write_text("allreduce: ring\n")
    assert rules_text("mpich-5.0") == "allreduce: ring\n"
    with pytest.raises(hocket.Error, match="mpich-4"):
        rules_text("mpich-4")
