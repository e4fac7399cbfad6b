"""Pictures of tables of sweeps: axes, legend, panels and omissions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import hocket

GRID = """
collective = "allreduce"
ranks = [4, 16]
sizes = ["0B", "8B", "64KiB"]
trials = 20
[algorithms]
recursive_doubling = {}
redundant_butterfly = { T = [0, 1, 3] }
[noises.quiet]
[noises.interrupts.noise.os]
model = "poisson"
interval = "10 us"
duration = "5 us"
"""


@pytest.fixture(scope="module")
def table() -> hocket.Table:
    return hocket.sweep(hocket.Grid.parse(GRID))


def rows_of(chart: Any) -> list[dict[str, Any]]:
    (rows,) = chart.to_dict()["datasets"].values()
    return list(rows)


def only(table: hocket.Table, keeps: Callable[[hocket.Row], bool]) -> hocket.Table:
    return hocket.Table(tuple(filter(keeps, table.rows)))


def layers(told: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = told.get("spec", told)["layer"]
    return found


def test_what_varies_is_on_the_axis_in_the_legend_and_in_panels(table: hocket.Table) -> None:
    rows = rows_of(table.plot())
    assert {row["x"] for row in rows} == {8, 65536}
    names = {"recursive_doubling", *(f"redundant_butterfly, T = {T}" for T in (0, 1, 3))}
    assert {row["line"] for row in rows} == names
    panels = {f"{ranks} ranks, noise {noise}" for ranks in (4, 16) for noise in ("quiet", "interrupts")}
    assert {row["panel"] for row in rows} == panels


def test_conditions_are_lines_of_one_picture_if_nothing_else_tells_lines_apart(table: hocket.Table) -> None:
    noises = only(table, lambda row: row.ranks == 16 and row.algorithm == "recursive_doubling")
    rows = rows_of(noises.plot())
    assert {row["line"] for row in rows} == {"noise quiet", "noise interrupts"}
    assert {row["panel"] for row in rows} == {""}


def test_means_and_their_intervals_are_those_of_the_table(table: hocket.Table) -> None:
    drawn = sorted((row["time_s"], row["low_s"], row["high_s"]) for row in rows_of(table.plot()))
    simulated = [row for row in table.rows if row.refusal is None and row.size_bytes]
    assert drawn == sorted((row.time_mean_s, row.time_interval_low_s, row.time_interval_high_s) for row in simulated)


def test_what_is_left_out_is_said(table: hocket.Table) -> None:
    chart = table.plot().to_dict()
    assert chart["title"]["text"] == "allreduce, machine cluster"
    assert chart["title"]["subtitle"] == [
        "means of 20 trials, and their 95 % confidence intervals",
        "left out: 6 of 48 calls, which were refused",
        "left out: 14 of 42 simulations, whose time or size_bytes is 0",
    ]


def test_both_axes_are_logarithmic_unless_a_parameter_is_zero(table: hocket.Table) -> None:
    for x, kinds in (("size_bytes", "log"), ("ranks", "log"), ("param_T", None)):
        for layer in layers(table.plot(x=x).to_dict()):
            assert layer["encoding"]["x"]["scale"].get("type") == kinds
            assert layer["encoding"]["y"]["scale"]["type"] == "log"


def test_a_table_without_sizes_is_drawn_over_ranks_or_a_parameter(table: hocket.Table) -> None:
    one_size = only(table, lambda row: row.size_bytes == 8)
    assert {row["x"] for row in rows_of(one_size.plot())} == {4, 16}
    one_place = only(one_size, lambda row: row.ranks == 16 and row.noise == "quiet")
    assert {row["x"] for row in rows_of(one_place.plot())} == {0, 1, 3}
    assert (
        "left out: 1 of 4 simulations, which have no T, or take no time"
        in one_place.plot().to_dict()["title"]["subtitle"]
    )


def test_colours_and_panels_can_be_chosen(table: hocket.Table) -> None:
    rows = rows_of(table.plot(x="ranks", color="noise", facet="size_bytes"))
    assert {row["x"] for row in rows} == {4, 16}
    assert {row["line"] for row in rows} == {"noise quiet", "noise interrupts"}
    assert {row["panel"] for row in rows} == {"0 B", "8 B", "64 KiB"}
    by_facet = rows_of(table.plot(facet="noise"))
    assert {row["panel"] for row in by_facet} == {"noise quiet", "noise interrupts"}
    assert "recursive_doubling, 16 ranks" in {row["line"] for row in by_facet}


def test_a_line_is_one_call_over_the_axis(table: hocket.Table) -> None:
    """No line has two times at one place, for all choices of colours and panels."""
    for chosen in ({}, {"color": "noise"}, {"color": "machine", "facet": "collective"}, {"x": "param_T"}):
        rows = rows_of(table.plot(**chosen))
        places = [(row["panel"], row["line"], row["call"], row["x"]) for row in rows]
        assert len(set(places)) == len(places)


def test_an_interval_that_reaches_below_zero_stays_on_the_axis(table: hocket.Table) -> None:
    rows = tuple(replace(row, time_interval_low_s=-1e-6) for row in table.rows if row.refusal is None)
    assert all(row["low_s"] > 0 for row in rows_of(hocket.Table(rows).plot()))


def test_a_parameter_of_numbers_and_words_is_no_axis(table: hocket.Table) -> None:
    rows = [row for row in table.rows if row.parameters]
    mixed = hocket.Table((replace(rows[0], parameters={"T": "auto"}), *rows[1:]))
    with pytest.raises(hocket.Error, match="x: got 'param_T', expected one of size_bytes, ranks, param_hosts"):
        mixed.plot(x="param_T")
    chart = mixed.plot(x="ranks")
    assert {row["line"] for row in rows_of(chart)} == {f"T = {value}" for value in ("auto", 0, 1, 3)}
    assert chart.to_dict()["title"]["text"] == "allreduce, redundant_butterfly, machine cluster"


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"x": "machine"}, "x: got 'machine', expected one of size_bytes, ranks, param_T, param_hosts"),
        ({"color": "T"}, "color: got 'T', expected one of collective, algorithm, param_T, param_hosts, ranks, "),
        ({"facet": "seed"}, "facet: got 'seed', expected one of "),
    ],
)
def test_unknown_columns_are_refused(table: hocket.Table, chosen: dict[str, str], message: str) -> None:
    with pytest.raises(hocket.Error) as caught:
        table.plot(**chosen)
    assert str(caught.value).startswith(message)


def test_values_by_formula_tell_no_lines_apart() -> None:
    text = 'ranks = 32\nsizes = ["256KiB", "4MiB"]\n[algorithms]\n"broadcast/chain" = {segments}\n'
    free, given = (
        hocket.sweep(hocket.Grid.parse(text.replace("{segments}", segments)))
        for segments in ("{}", '{ segment = ["4KiB", "64KiB"] }')
    )
    assert {row["line"] for row in rows_of(free.plot())} == {"chain"}
    assert {row["line"] for row in rows_of(given.plot())} == {"segment = 4096", "segment = 65536"}
    with pytest.raises(hocket.Error, match="x: got 'param_segment', expected one of size_bytes, ranks"):
        free.plot(x="param_segment")


def test_nothing_or_too_much_to_draw_is_refused(table: hocket.Table) -> None:
    with pytest.raises(hocket.Error, match="nothing to draw, expected simulations with a time and ranks above zero"):
        only(table, lambda row: row.refusal is not None).plot()
    many = tuple(replace(table.rows[1], machine=str(number), size_bytes=8) for number in range(25))
    with pytest.raises(hocket.Error, match="a picture of 25 panels, expected at most 24"):
        hocket.Table(many).plot()
    with pytest.raises(hocket.Error, match="a picture of 20001 simulations, expected at most 20000"):
        hocket.Table((table.rows[1],) * 20_001).plot()
