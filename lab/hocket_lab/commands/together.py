"""`hocket lab together`: several jobs at once, timed in a lab and simulated."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction

from hocket.base.units import format_count, format_ratio, format_time
from hocket.cli.effort import tell
from hocket.cli.output import print_result, print_table, print_words
from hocket.cli.printing import say
from hocket.mpi.installation import Installation
from hocket.simulating.faults import Faults
from hocket.simulating.jobs import Job
from hocket.simulating.together import Place
from hocket.words.simulations import fault_words
from hocket_lab.commands.options import DEFAULT, command, in_lab, ratio_text
from hocket_lab.comparing import ComparedTime
from hocket_lab.together import JobsCompared, compare_together


@command()
def together(
    texts: tuple[str, ...],
    installation: Installation,
    lab: str | None,
    scale: Fraction,
    place: Place,
    faults: Faults | None,
    seed: int,
    limit_s: float,
    as_json: bool,
) -> None:
    """Time several jobs at once in a lab, and each alone, and simulate them.

    A JOB is a text as in `hocket together`, such as 'allreduce ring 1MiB, 4 ranks'. Measured times are multiplied by
    the lab's scale. Without --lab, the command uses the lab named "lab", which must be up.
    """
    jobs = [Job.parse(text) for text in texts]
    with in_lab(lab or DEFAULT, scale) as there:
        tell(limit_s, "up to ")
        found = compare_together(there, installation, jobs, place=place, seed=seed, faults=faults, limit_s=limit_s)
    if as_json:
        print_result(asdict(found))
        return
    _print(found)


def _print(found: JobsCompared) -> None:
    title = f"{format_count(len(found.jobs), 'job')} at once, {found.place} places"
    say(f"{title}, {found.mpi}, lab: {found.lab}", bold=True)
    print_words(f"clocks of ranks agree within {format_time(found.clock_error_s)}")
    for words in fault_words(found.faults, found.faults_late_s):
        print_words(words)
    say()
    print_words("measured median and the reach of its interval, simulated time, measured over simulated")
    rows = []
    for number, job in enumerate(found.jobs, start=1):
        measured, simulated = job.slowdown
        slowdown = (format_ratio(measured), "", format_ratio(simulated), ratio_text(measured / simulated))
        rows += [
            [str(number), job.job, "alone", *_cells(job.alone)],
            ["", "", "together", *_cells(job.together)],
            ["", "", "slowdown", *slowdown],
        ]
    columns = ["measured", "", "simulated", "ratio"]
    print_table(["", "job", "time", *columns], rows, right=columns)
    middle, ninth, worst = found.deviation
    say(f"\ndeviation: median {middle:.1%}, nine of ten within {ninth:.1%}, worst {worst:.1%}")


def _cells(time: ComparedTime) -> tuple[str, ...]:
    return format_time(time.measured_s), f"{time.reach:.0%}", format_time(time.simulated_s), ratio_text(time.ratio)
