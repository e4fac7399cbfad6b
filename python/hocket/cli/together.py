"""`hocket together`: what several jobs at once do to each other."""

from __future__ import annotations

from typing import Any

import click

from hocket.base.units import format_bytes, format_count, format_ratio, format_reach, format_time
from hocket.cli import options
from hocket.cli.effort import announce, yes_option
from hocket.cli.output import answer, print_table, print_words, progress, with_version
from hocket.cli.printing import say
from hocket.cli.trials import asked_trials
from hocket.definitions.library import Algorithm
from hocket.definitions.machine import Machine
from hocket.simulating.jobs import Job
from hocket.simulating.together import Place, Together, effort_s, simulate_together

_MOST_LINKS = 5  # shown


@click.command()
@click.argument("texts", nargs=-1, required=True, metavar="JOB...")
@options.machine
@options.place
@options.engine
@options.faults
@options.trials
@options.seed
@options.load
@yes_option
@options.as_json
def together(
    texts: tuple[str, ...],
    machine: Machine,
    place: Place,
    trials: int,
    seed: int,
    algorithms: tuple[Algorithm, ...],
    yes: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Simulate several jobs at once, and report how much longer each of them takes than alone.

    A JOB is a text such as 'allreduce ring 1MiB, 32 ranks'. In place of ranks, 'rows of 4x8' has 4 calls of 8 ranks
    and 'columns of 4x8' 8 calls of 4 ranks. 'nodes 0-15 20' and a cadence such as '16 calls' may follow.
    """
    jobs = [Job.parse(text, among=algorithms) for text in texts]
    repeated = asked_trials(trials, seed, None, machine, is_drawn=place == "random")
    announce([effort_s(jobs, machine=machine, place=place, trials=repeated)], yes=yes)
    has_trials = repeated.count > 1
    with progress("simulating", repeated.count if has_trials else None) as bar:
        result = simulate_together(
            texts,
            machine=machine,
            place=place,
            trials=repeated,
            among=algorithms,
            on_trials=bar.reach if has_trials else lambda _: None,
            **how,
        )
    answer(with_version(result.as_dict()), _print, result, as_json=as_json)


def _print(result: Together) -> None:
    say(result.title, bold=True)
    columns = ("", "job", "alone", "together", "slowdown", "from", "to", "95 %")
    rows = [
        (
            str(number),
            job.job,
            format_time(job.alone_s.mean),
            format_time(job.time_s.mean),
            *map(format_ratio, (job.slowdown.mean, job.slowdown.min, job.slowdown.max)),
            format_reach(job.slowdown.reach),
        )
        for number, job in enumerate(result.jobs, start=1)
    ]
    column_count = len(columns) if result.trials > 1 else len(columns) - 3
    print_table(columns[:column_count], [row[:column_count] for row in rows], right=columns[2:])
    for fault in result.faults:
        print_words(f"fault: {fault}")
    if result.trials > 1:
        print_words(f"means of {result.trials} trials, seed {result.seed}; the smallest and the largest slowdown")
    if not result.shared_links:
        say("messages do not share links" if result.shared_links is None else "no link has bytes of two calls")
        return
    first = ", in the first trial" if result.trials > 1 else ""
    say(f"\n{format_count(len(result.shared_links), 'link')} with bytes of two calls or more{first}; the busiest:")
    links = [
        (
            one.name,
            format_time(one.busy_s),
            format_time(one.waiting_s),
            ", ".join(f"{number}: {format_bytes(round(b))}" for number, b in enumerate(one.job_bytes, start=1) if b),
        )
        for one in result.shared_links[:_MOST_LINKS]
    ]
    print_table(("link", "busy", "waited for", "bytes by job"), links, right=("busy", "waited for"))
