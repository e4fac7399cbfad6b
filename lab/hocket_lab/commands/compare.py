"""`hocket lab compare`: algorithms timed in a lab and simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from hocket._native import Error
from hocket.base.units import format_bytes, format_count, format_time
from hocket.cli import options
from hocket.cli.mpi.bench import ALL, BenchRequest, bench_request
from hocket.cli.output import hand_out, print_files, print_table, print_words
from hocket.cli.printing import say
from hocket.words.simulations import fault_words, played_on_clocks
from hocket_lab.commands.options import DEFAULT, command, in_lab, ratio_text
from hocket_lab.comparing import Compared, Point, compare_with_lab, expected
from hocket_lab.gates import gates

if TYPE_CHECKING:
    import altair as alt


@command(request=partial(bench_request, usual=(ALL,)), scene=options.scene)
def compare(
    request: BenchRequest, lab: str | None, scale: Fraction, plot: str | None, output: str | None, as_json: bool
) -> None:
    """Time algorithms for a COLLECTIVE in a lab and simulate them: times, and bytes on each link.

    Measured times are multiplied by the lab's scale, so that they are times of the machine. Without --lab, the command
    uses the lab named "lab", which must be up.
    """
    with in_lab(lab or DEFAULT, scale) as there:
        request = replace(request, call=there.call(request.call))
        simulated, refused = expected(there, request.candidates, request.call, request.sizes_bytes, **request.simulated)
        accepted = tuple(one for one in request.candidates if one is None or one.name not in refused)
        if not any(accepted):
            raise Error(next(iter(refused.values())))
        before = there.sent()

        def least_s(size: int) -> float:
            """Return the time of the fewest samples allowed at a size, with a warm-up call and a proving call."""
            times_s = (one.rank_time_s["max"] for (_, bytes_), one in simulated.items() if bytes_ == size)
            return (there.LEAST_ROUNDS + 2) * sum(times_s)

        request = replace(request, candidates=accepted)
        with gates(there, request.scene.faults) as director:
            found = request.measure(
                launcher=there.command, least_rounds=there.LEAST_ROUNDS, director=director, least_s=least_s
            )
        what = compare_with_lab(there, found, simulated, refused, before, director)

    def draw() -> alt.TopLevelMixin:
        from hocket_lab.pictures import compared_chart

        return compared_chart(what, there.wiring.topology)

    hand_out(
        {**asdict(what), "lab": there.summary},
        plot=plot,
        output=output,
        as_json=as_json,
        draw=draw,
        show=lambda written: print_compared(what, written),
    )


def print_compared(what: Compared, written: Mapping[str, str | None]) -> None:
    """Print a comparison, and the files that were written."""
    say(f"{what.collective} on {format_count(what.ranks, 'rank')}, {what.mpi}, lab: {what.lab}", bold=True)
    for words in (*played_on_clocks(what), *fault_words(what.faults, what.faults_late_s)):
        print_words(words)
    say()
    print_words("measured median and the reach of its interval, simulated time, measured over simulated")
    columns = ["measured", "", "simulated", "ratio"]
    intervals = ["interval", "simulated interval", "interval ratio"] if what.cadence else []
    rows = [
        [
            format_bytes(point.size_bytes),
            point.algorithm,
            format_time(point.measured_s),
            f"{point.reach:.0%}",
            format_time(point.simulated_s),
            ratio_text(point.ratio),
            *_interval(point),
        ]
        for point in sorted(what.points, key=lambda point: (point.size_bytes, point.measured_s))
    ]
    print_table(["size", "algorithm", *columns, *intervals], rows, right=[*columns, *intervals])
    middle, ninth, worst = what.deviation
    say(f"\ndeviation: median {middle:.1%}, nine of ten within {ninth:.1%}, worst {worst:.1%}")
    if what.links:
        low, high = what.link_ratios
        dropped = sum(link.dropped_packets for link in what.links)
        of_simulated = f"{low:.4f} to {high:.4f} of the simulated bytes"
        lost = f"{format_count(dropped, 'packet')} dropped"
        print_words(f"bytes on {format_count(len(what.links), 'link')}: {of_simulated}; {lost}")
    for name, sentence in what.not_measured:
        print_words(f"not measured: {name}: {sentence}")
    print_files(written)


def _interval(point: Point) -> list[str]:
    """Return the cells of the intervals between the calls of a cadence."""
    measured_s, simulated_s = point.measured_interval_s, point.simulated_interval_s
    if measured_s is None or simulated_s is None:
        return []
    return [format_time(measured_s), format_time(simulated_s), ratio_text(measured_s / simulated_s)]
