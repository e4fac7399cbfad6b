"""Rules that choose algorithms: those of MPI libraries, and what rules choose for a call."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike, fspath, path

from hocket import _native
from hocket.base import files
from hocket.base.call import Call
from hocket.base.checks import text, unknown
from hocket.definitions.calls import made_of_any
from hocket.definitions.libraries import LIBRARY_RULES
from hocket.definitions.library import Algorithm, find, find_collective


def rules_text(file: str | PathLike[str]) -> str:
    """Return the rules in a file, or of an MPI library by its name, where there is no such file; refuse other names."""
    name = str(fspath(file))
    is_of_library = name.partition("-")[0] in {each.partition("-")[0] for each in LIBRARY_RULES}
    if path.exists(file) or not is_of_library:
        return files.read_text(file)
    if name not in LIBRARY_RULES:
        raise unknown("rules", name, LIBRARY_RULES)
    return LIBRARY_RULES[name]


def order_is_fixed(rules: str, file: str) -> bool:
    """Return whether rules have `order = fixed`; `file` names them in errors.

    What is no rule is refused, and an order of a result that could depend on the size in spite of `order = fixed`.
    """
    return bool(_native.rules(text("rules", rules), file)["order_is_fixed"])


def choose(rules: str, collective: str, call: Call) -> tuple[Algorithm, Call] | None:
    """Return the algorithm that rules choose, and the call with its parameters; nothing where they leave it to MPI.

    Args:
        rules: The rules, one per line.
        collective: The collective, such as "allreduce".
        call: The call; its parameters do not matter.

    Raises:
        Error: A rule is none, an unknown collective, or a call that makes no sense.

    Examples:
        >>> import hocket
        >>> call = hocket.Call(ranks=7, size_bytes=1 << 20)
        >>> algorithm, call = hocket.choose(hocket.LIBRARY_RULES["mpich-5.0"], "broadcast", call)
        >>> algorithm.name
        'binomial'
    """
    name = find_collective(collective)
    choice = _native.choose(text("rules", rules), "rules", made_of_any(name, call))
    if choice is None:
        return None
    algorithm, parameters = choice
    return find(f"{name}/{algorithm}"), replace(call, parameters=parameters)
