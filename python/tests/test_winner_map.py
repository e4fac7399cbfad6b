"""Maps of the fastest."""

from __future__ import annotations

import re

from hocket.drawing.encoding import picture_of
from hocket.drawing.winner_map import winner_chart


def row(place: int, fastest: str, factor: str = "") -> dict[str, object]:
    return {"ranks": 4, "size": f"{place} B", "fastest": fastest, "time": "", "second": "", "factor": factor}


def test_an_algorithm_has_one_colour_also_where_others_are_as_fast() -> None:
    rows = [row(0, "b = c"), row(1, "a = b = c"), row(2, "a = b"), row(3, "d")]
    chart = winner_chart(rows, title="", subtitle=[]).to_dict()
    (cells,) = chart["datasets"].values()
    assert [cell["algorithm"] for cell in cells] == ["b", "b", "b", "d"]
    assert chart["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["b", "d"]
    assert [cell["fastest"] for cell in cells] == [one["fastest"] for one in rows]


def test_numbers_are_white_on_dark_cells_and_black_on_light_ones() -> None:
    winners = {"a": "1.1", "b": "1.2"}  # dark blue and light blue
    rows = [row(place, name, factor) for place, (name, factor) in enumerate(winners.items())]
    svg = picture_of(lambda: winner_chart(rows, title="", subtitle=[]), ".svg").decode()
    assert re.findall(r'<text[^>]* fill="(\w+)"[^>]*>(1\.[12])</text>', svg) == [("white", "1.1"), ("black", "1.2")]
