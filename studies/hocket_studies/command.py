"""`hocket study`: the figures and claims of a paper, computed anew."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import click

from hocket.base import files
from hocket.base.executors import ExecutorKind, open_executor
from hocket.cli.command import command
from hocket.cli.output import print_json, print_table, progress
from hocket.cli.printing import note
from hocket.cli.values import OneOf, whole
from hocket.drawing.encoding import FORMATS, encode
from hocket_studies import STUDIES, Claim, Figure
from hocket_studies.study import Rows, Work, as_csv

_VALIDATION = "validation"
_NAMES = (*STUDIES, _VALIDATION)
_HERE = (_VALIDATION, "jitter")  # share memory, or measure


@command(own_rows=__file__, fields={"studies": "|".join(_NAMES)}, name=OneOf(_NAMES), trials=whole(2))
def study(
    name: str,
    numbers: tuple[int, ...],
    quick: bool,
    full: bool,
    trials: int | None,
    seed: int,
    folder: str | None,
    simgrid: str | None,
    loggopsim: str | None,
    mpicc: str | None,
    executor: ExecutorKind,
    jobs: int,
    as_json: bool,
) -> None:
    """Compute the figures of a paper: data (CSV), pictures (PNG and HTML) and a table of its claims.

    `landscape` draws which algorithm is fastest where, for each collective on four machines.

    `validation` puts Hocket's numbers beside closed forms, other simulators, this host's MPI, labs and the papers.
    """
    if quick and full:
        raise click.UsageError("got --quick and --full, expected one of them at most")
    if name == _VALIDATION and (numbers or trials is not None):
        raise click.UsageError("study validation has neither figures nor trials, expected no --figure and no --trials")
    if name in _HERE and executor.name != "local":
        raise click.UsageError(f"--executor: got {executor.name}, but study {name} runs in one process, expected local")
    if name == _VALIDATION:
        from hocket_studies.validation.writing import Validation

        scope = "quick" if quick else "full" if full else "default"
        place = Path(files.writable_folder(f"study-{name}" if folder is None else folder))
        Validation(place, scope, simgrid, loggopsim, mpicc, jobs, as_json).write()
        return
    if simgrid or loggopsim or mpicc:
        raise click.UsageError(f"--simgrid-python, --loggopsim and --mpicc are for study {_VALIDATION}")
    chosen = STUDIES[name]
    known = {figure.number for figure in chosen.figures}
    if unknown := set(numbers) - known:
        raise click.UsageError(f"--figure: got {min(unknown)}, expected {min(known)} to {max(known)}")
    figures = [figure for figure in chosen.figures if not numbers or figure.number in numbers]
    reach = replace(chosen.scopes["quick" if quick else "full" if full else "default"], seed=seed)
    if trials is not None and reach.trials == 1:
        raise click.UsageError(f"--trials: got {trials}, but study {name} has no trials")
    reach = replace(reach, trials=trials) if trials else reach
    target = Path(files.writable_folder(f"study-{name}" if folder is None else folder))

    names = list(dict.fromkeys(figure.data for figure in figures))
    data: dict[str, Rows] = {}
    files.make_folder(target)
    pieces = sum(chosen.pieces(name, reach) for name in names)
    with open_executor(executor, jobs=jobs, say=note) as pool, progress("simulating", pieces) as on_done:
        for one in names:
            data[one] = chosen.compute(one, reach, Work(pool, on_done))
            files.write(target / f"{one}.csv", as_csv(data[one]))
    for figure in figures:
        _draw(figure, data[figure.data], target)
    claims = chosen.claims(data)
    if claims:
        files.write(target / "claims.csv", as_csv([asdict(claim) for claim in claims]))
    for file, text in chosen.texts(data).items():
        files.write(target / file, text)
    if as_json:
        print_json(
            {"study": name, "scope": asdict(reach), "folder": str(target), "claims": [asdict(c) for c in claims]}
        )
    else:
        _print(claims, target)


def _draw(figure: Figure, rows: Rows, target: Path) -> None:
    chart = figure.draw(rows, f"Figure {figure.number}. {figure.title}")
    variant = figure.data.rpartition("_")[2]
    name = f"figure-{figure.number:02}" + (f"-{variant}" if variant in ("text", "caption") else "")
    for ending in FORMATS:
        files.write(target / f"{name}{ending}", encode(chart, ending))


def _print(claims: list[Claim], target: Path) -> None:
    columns = ("claim", "paper", "Hocket", "holds", "why")
    if claims:
        print_table(columns, [(c.claim, c.paper, c.hocket, c.holds, c.why) for c in claims])
    click.echo(f"data, pictures{' and claims' if claims else ''}: {target}/")
