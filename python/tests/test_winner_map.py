"""Maps of the fastest."""

from __future__ import annotations

import re

from hocket.drawing.encoding import picture_of
from hocket.drawing.winner_map import winner_chart


def test_numbers_are_white_on_dark_cells_and_black_on_light_ones() -> None:
    winners = {"a": "1.1", "b": "1.2"}  # dark blue and light blue
    rows = [
        {"ranks": 4, "size": f"{i} B", "fastest": name, "time": "", "second": "", "factor": factor}
        for i, (name, factor) in enumerate(winners.items())
    ]
    svg = picture_of(lambda: winner_chart(rows, title="", subtitle=[]), ".svg").decode()
    assert re.findall(r'<text[^>]* fill="(\w+)"[^>]*>(1\.[12])</text>', svg) == [("white", "1.1"), ("black", "1.2")]
