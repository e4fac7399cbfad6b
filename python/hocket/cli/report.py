"""`hocket report`: write all views of algorithms on a machine to one file."""

from __future__ import annotations

from typing import Any

from hocket.base import files
from hocket.base.units import format_ranks
from hocket.cli import options
from hocket.cli.command import command
from hocket.cli.measurements import measured_files
from hocket.cli.output import progress
from hocket.cli.printing import say
from hocket.cli.trials import compared_trials
from hocket.cli.values import OneOf
from hocket.definitions.library import COLLECTIVES, find_collective
from hocket.definitions.machine import Machine
from hocket.explorer.questions import VERIFIED_RANKS, Question, Sources
from hocket.explorer.report import report as report_of
from hocket.explorer.views import VIEWS, names_of_views, sections
from hocket.simulating.scenes import Scene
from hocket.simulating.simulation import UNTIL_DECIDED


@command(
    fields={"most_trials": UNTIL_DECIDED.count, "verified_ranks": format_ranks(VERIFIED_RANKS)},
    machine=options.machine,
    scene=options.scene,
    choices=("names", "algorithm", "size_bytes", "verified_ranks"),
    views=OneOf(list(VIEWS)),
)
def report(
    file: str,
    collective: str,
    ranks: tuple[int, ...] | None,
    sizes: tuple[int, ...] | None,
    param: tuple[tuple[str, str], ...],
    machine: Machine,
    other_machine: Machine | None,
    scene: Scene,
    trials: int | None,
    seed: int,
    choices: dict[str, Any],
    views: tuple[str, ...],
    measured: tuple[str, ...],
    measured_algorithm: tuple[str, ...],
    measured_ranks: tuple[int, ...],
    load: tuple[str, ...],
) -> None:
    """Save the explorer's views of algorithms for a COLLECTIVE as one self-contained HTML FILE.

    If there is no such view, for example no link loads because messages share no links, the report says why in its
    place.
    """
    options.check_scene(scene, "isolated")
    collective = find_collective(collective)
    has_size = COLLECTIVES[collective].has_size
    question = Question(
        collective=collective,
        ranks=options.required(ranks, "--ranks", "rank counts such as 64 or 4,16,64"),
        sizes_bytes=options.sizes_of(collective, sizes if has_size else None, example="8B..64MiB"),
        machine=machine,
        sources=Sources(load, measured=measured_files(measured, measured_algorithm, measured_ranks)),
        parameters=param,
        trials=compared_trials(trials, seed, None, machine, is_drawn=scene.is_drawn),
        scene=scene,
        other_machine=other_machine,
        **choices,
    )
    view_names = views or names_of_views(question)
    with progress("reporting", len(view_names)) as bar:

        def note(progress: int, total: int) -> None:
            ready = progress * len(view_names) / total
            bar.reach(ready)
            bar.describe(f"reporting {view_names[min(int(ready), len(view_names) - 1)]}")

        text = report_of(question, sections(question, view_names, note))
    files.write(file, text)
    if not files.is_stdout(file):
        say(f"report: {file}")
