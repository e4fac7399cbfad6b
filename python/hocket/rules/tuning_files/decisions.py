"""What libraries decide where no file says anything."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

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


_SOURCES = {
    **{
        name: ("mpich-5.0", f"the selection tree compiled into MPICH 5.0.2, maint/tuning/coll/{file}.json")
        for name, file in (
            (mpich_json.LIBRARY, "mpir/generic"),
            (mpich_json.DEVICE, "ch4/generic"),
            (mpich_json.SHARED_MEMORY, "ch4/posix_generic"),
        )
    },
    **{
        f"openmpi-{version}": (
            "hocket",
            f"ompi/mca/coll/tuned/coll_tuned_decision_fixed.c of Open MPI {version}{where}",
        )
        for version, where in (("5.0", ", on one node, or with one rank per node"), ("4.1", ""))
    },
    "ucc-1": (
        "ucc-1",
        "the default scores of TL/UCP in UCC's sources of 2025 and 2026, for memory of hosts; those of allgather and "
        "alltoall are exact on powers of two of ranks and one more",
    ),
}


def defaults_of(name: str) -> Defaults:
    """Return the decisions of a library.

    Raises:
        Error: They are not known.
    """
    if name not in _SOURCES:
        raise no_defaults(name, _SOURCES)
    format, source = _SOURCES[name]
    if format == name == ucc_tune.LIBRARY:
        return Defaults(name, source, format, ucc_defaults.text())
    if format == mpich_json.LIBRARY:
        return Defaults(name, source, format, mpich_json.as_text(mpich_json.default_tree(name)))
    return Defaults(name, source, format, LIBRARY_RULES["openmpi-5.0"])


@cache
def default_rules(name: str) -> Rules:
    """Return the decisions of a library as rules."""
    if name == ucc_tune.LIBRARY:
        return ucc_defaults.rules()
    defaults = defaults_of(name)
    format = next(each for each in (*hocket_rules.FORMATS, *mpich_json.FORMATS) if each.name == defaults.format)
    assert format.read is not None  # both formats have a reader
    return format.read(defaults.text, name)
