"""Algorithms written in Python: a decorated generator function in a file of the user."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from io import StringIO
from os import PathLike, fspath
from pathlib import Path
from threading import Lock

from hocket._native import Error
from hocket.base import checks
from hocket.base.files import read_text
from hocket.definitions.calls import describe, line_in
from hocket.definitions.library import Algorithm, Parameter, Refuses, algorithms, find_collective
from hocket.typing import Call, Program, Rank, Steps


def algorithm(
    collective: str, *, refuses: Refuses | None = None, parameters: Sequence[Parameter] = (), cost: str | None = None
) -> Callable[[Program], Algorithm]:
    """Make an algorithm of a generator function, which says in the verbs of `hocket.typing.Rank` what every rank does.

    The function's name becomes the name of the algorithm. Its docstring becomes the header: a one-line description;
    source; needs; counts; a picture. The result can be verified, simulated, recorded, run, compared and shown like any
    other algorithm.

    Args:
        collective: The collective that it implements.
        refuses: The precondition: a function that returns the sentence to refuse a call with, or None.
        parameters: The parameters of the algorithm.
        cost: Time in the Hockney model, as a formula over P, n, alpha, beta, gamma and the parameters. It is only
            shown.

    Raises:
        Error: There is no such collective, the function is not a generator function of a rank and a call, or the
            catalogue already has an algorithm of this name.

    Examples:
        >>> import hocket
        >>> @hocket.algorithm("broadcast")
        ... def star(r, c):
        ...     "The root sends to everybody."
        ...     if r.rank == c.root:
        ...         yield r.join(*(r.send(peer, c.result(r)) for peer in range(r.size) if peer != c.root))
        ...     else:
        ...         yield r.recv(c.root, c.result(r))
        >>> hocket.verify(star, range(1, 5)).ok
        True
    """
    collective = find_collective(collective)
    names_taken = {entry.name for entry in algorithms(collective)}
    declared = checks.several("parameters", parameters, Parameter, "hocket.Parameter")
    for one in declared:
        name = checks.text("parameters: a name", one.name)
        if checks.text(f"parameter {name}: unit", one.unit) not in ("count", "bytes"):
            raise Error(f"parameter {name}: unit: got {checks.quote(one.unit)}, expected count or bytes")
        checks.whole(f"parameter {name}: default", one.default)
        checks.whole(f"parameter {name}: least", one.least)
        checks.text(f"parameter {name}: meaning", one.meaning)
    if refuses is not None:
        checks.function("refuses", refuses)
    if cost is not None:
        checks.text("cost", cost)

    def decorate(program: Program) -> Algorithm:
        name = getattr(program, "__name__", checks.quote(program))
        if name in names_taken:
            raise Error(f"the catalogue has an algorithm {collective}/{name}, expected another name")
        is_generator = inspect.isgeneratorfunction(program)
        if not is_generator or len(inspect.signature(program).parameters) != 2:
            lack = "" if is_generator else "; it has no `yield`"
            expected = f"expected a generator function of a rank and a call{lack}"
            raise Error(f"{collective}/{name} is not a program, {expected}")
        header = inspect.getdoc(program) or ""
        return Algorithm(
            collective=collective,
            name=name,
            summary=header.partition("\n")[0],
            header=header,
            listing=_listing(program),
            cost=cost,
            parameters=declared,
            program=program,
            refuses=refuses,
        )

    return decorate


def load(path: str | PathLike[str]) -> tuple[Algorithm, ...]:
    """Run a Python file and return the algorithms that it defines.

    Raises:
        Error: The file cannot be read, fails, or defines no algorithm. The message names the file and the line.
    """
    file = checks.path("load", path)
    own_algorithms = _algorithms_in(file)
    if not own_algorithms:
        raise Error(f"{file}: defines no algorithm, expected a generator function under @hocket.algorithm(...)")
    return tuple(replace(value, file=file) for value in own_algorithms)


def with_own_globals(algorithm: Algorithm, ranks: int) -> Program | None:
    """Return the program of an algorithm with global variables of its own for each rank, as processes have them.

    The algorithm's file is run once more for each rank. None if it was not loaded from a file, or if the file does not
    run a second time.
    """
    if algorithm.file is None:
        return None
    try:
        with _ONE_BY_ONE, redirect_stdout(StringIO()):
            algorithms_by_rank = [_algorithms_in(algorithm.file) for _ in range(ranks)]
    except Error:
        return None
    of_ranks = [next(one for one in own if one.program and one.label == algorithm.label) for own in algorithms_by_rank]

    def program(r: Rank, c: Call) -> Steps:
        return of_ranks[r.rank](r, c)

    return program


_ONE_BY_ONE = Lock()  # modules are loaded by one thread at a time: they have the same name


def library(paths: Iterable[str | PathLike[str]], *, base: Iterable[Algorithm]) -> tuple[Algorithm, ...]:
    """Return the algorithms of `base` together with the algorithms that some files define.

    Raises:
        Error: As `load`, or two files define an algorithm of the same name.
    """
    by_label = {entry.label: entry for entry in base}
    for path in paths:
        for entry in load(path):
            if by_label.setdefault(entry.label, entry) is not entry:
                raise Error(f"{fspath(path)}: there is another algorithm {entry.label}, expected another name")
    return tuple(by_label.values())


def _algorithms_in(file: str) -> list[Algorithm]:
    if not Path(file).is_file():
        raise Error(f"{file}: no such file, expected a Python file that defines algorithms")
    read_text(file)  # refuse a file that cannot be read or is too long
    name = f"hocket_loaded_{Path(file).stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise Error(f"{file}: not a Python file, expected a name that ends in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise Error(f"{error.filename or file}:{error.lineno or 1}: {type(error).__name__}: {error.msg}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Error(f"{file}:{line_in(spec.origin, error) or 1}: {describe(error)}") from error
    return [value for value in vars(module).values() if isinstance(value, Algorithm)]


def _listing(program: Program) -> str:
    try:
        return textwrap.dedent(inspect.getsource(program))
    except OSError:
        return ""
