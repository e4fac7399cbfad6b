"""What makes a library take tuning files: environment variables, or the same as a file of Open MPI's parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from hocket.rules.tuning_files.form import Format
from hocket.rules.tuning_files.openmpi_han import FUNCTIONS_OF_HAN, LIBRARY

PARAMETERS_SUFFIX = ".mca-params.conf"
"""Replaces the last suffix of a tuning file in the name of the file of parameters beside it."""
_OF_OPEN_MPI = "coll_"


def settings_of(files: Mapping[str, Format], functions: Iterable[str]) -> dict[str, str]:
    """Return the parameters with which a library takes files of some formats together, and their values.

    HAN stays on with a file of its own, and where no rule is for a function of HAN.
    """
    values = {
        name: path if value == "FILE" else value for path, format in files.items() for name, value in format.settings
    }
    if any(format.name == LIBRARY for format in files.values()) or not {*functions} & {*FUNCTIONS_OF_HAN}:
        values.pop("coll_han_priority", None)
    return values


def environment_of(settings: Mapping[str, str]) -> str:
    """Return parameters as environment variables, on one line."""
    return " ".join(
        f"{'OMPI_MCA_' if name.startswith(_OF_OPEN_MPI) else ''}{name}={value}" for name, value in settings.items()
    )


def parameters_text(settings: Mapping[str, str]) -> str | None:
    """Return parameters as a file of Open MPI, with full paths; None if they are those of another library."""
    if not all(name.startswith(_OF_OPEN_MPI) for name in settings):
        return None
    lines = (
        f"{name} = {Path(value).absolute() if name.endswith('_filename') else value}"
        for name, value in settings.items()
    )
    return "\n".join(["# For openmpi-mca-params.conf, or OMPI_MCA_mca_base_param_files.", *lines, ""])
