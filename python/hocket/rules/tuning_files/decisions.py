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


_MPICH = "the selection tree compiled into MPICH 5.0.2, maint/tuning/coll/{}.json"
_OPEN_MPI = "ompi/mca/coll/tuned/coll_tuned_decision_fixed.c of Open MPI {}"
_UCC = (
    "the default scores of TL/UCP in UCC's sources of 2025 and 2026, for memory of hosts; those of allgather and "
    "alltoall are exact on powers of two of ranks and one more"
)
_SOURCES = {
    mpich_json.LIBRARY: _MPICH.format("mpir/generic"),
    mpich_json.DEVICE: _MPICH.format("ch4/generic"),
    mpich_json.SHARED_MEMORY: _MPICH.format("ch4/posix_generic"),
    "openmpi-5.0": _OPEN_MPI.format("5.0, on one node, or with one rank per node"),
    "openmpi-4.1": _OPEN_MPI.format("4.1"),
    ucc_tune.LIBRARY: _UCC,
}


def defaults_of(name: str) -> Defaults:
    """Return the decisions of a library.

    Raises:
        Error: They are not known.
    """
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
