"""What libraries decide where no file says anything."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hocket.base.files import read_rows
from hocket.definitions.libraries import LIBRARY_RULES, no_defaults
from hocket.rules.tuning_files import hocket_rules, mpich_json, ucc_defaults, ucc_tune
from hocket.rules.tuning_files.form import Rules


@dataclass(frozen=True)
class Defaults:
    """The decisions of a library with its version: their source, their format, and their text."""

    name: str
    source: str
    format: str
    text: str


_SOURCES = {row["library"]: row["source"] for row in read_rows(__file__, "decisions.csv")}


def defaults_of(name: str) -> Defaults:
    """Return the decisions of a library; refuse one whose decisions are not known."""
    if name not in _SOURCES:
        raise no_defaults(name, _SOURCES)
    if name == ucc_tune.LIBRARY:
        return Defaults(name, _SOURCES[name], name, ucc_defaults.text())
    if name.startswith(mpich_json.LIBRARY):
        return Defaults(name, _SOURCES[name], mpich_json.LIBRARY, mpich_json.as_text(mpich_json.default_tree(name)))
    return Defaults(name, _SOURCES[name], "hocket", LIBRARY_RULES["openmpi-5.0"])


@cache
def default_rules(name: str) -> Rules:
    """Return the decisions of a library as rules."""
    if name == ucc_tune.LIBRARY:
        return ucc_defaults.rules()
    defaults = defaults_of(name)
    (format,) = hocket_rules.FORMATS if defaults.format == "hocket" else mpich_json.FORMATS
    return format.read(defaults.text, name)
