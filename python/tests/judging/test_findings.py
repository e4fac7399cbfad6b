"""The table of findings: the code uses every row, and no other names."""

import re
from pathlib import Path

from hocket.base.files import read_rows
from hocket.judging import finding
from hocket.judging.finding import conclude

_NAMES = {row["name"] for row in read_rows(finding.__file__, "findings.csv")}
_SOURCES = "\n".join(path.read_text() for path in Path(finding.__file__).parent.glob("*.py"))


def test_every_row_is_used_somewhere() -> None:
    assert [name for name in _NAMES if f'"{name}"' not in _SOURCES] == []


def test_names_in_the_code_are_rows() -> None:
    assert {*re.findall(r'\b(?:conclude|finding)\(\s*"([^"]+)"', _SOURCES)} <= _NAMES


def test_values_have_the_unit_that_the_end_of_their_name_tells() -> None:
    one = conclude("still rising", call="C", bytes_per_s=2e9, size_bytes=1024, implied_bytes_per_s=3e9, what="a card")
    assert one.sentence == (
        "C reaches 2.000 GB/s of bus bandwidth at 1 KiB, and more at larger sizes: the rows imply 3.000 GB/s, usual "
        "for a card"
    )
    assert conclude("single time", call="C", time_s=5e-6).sentence.startswith("C takes 5.000 us:")
