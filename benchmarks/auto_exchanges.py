"""The loss of T = auto against the best number of redundant exchanges, on a grid of points.

    .venv/bin/python benchmarks/auto_exchanges.py [--most-log2 18] [--trials 300]

Transfers of 8 B at c / duration = 1e-3 .. 1, costs of a send of 0, c / 10 and c, period = 100 durations. The best T has
the smallest mean; all T have the same trials. A loss within the 95 % interval of the difference is no loss.
"""

from __future__ import annotations

import math

import click
from rich.console import Console
from rich.table import Table

import hocket
from hocket.definitions.calls import prepare
from hocket_studies.jitter import ALGORITHM, Setting, machine

LOGS = (4, 8, 11, 14, 18)
RATIOS = (1e-3, 1e-2, 1e-1, 0.3, 1.0)
SHARES = (0.0, 0.1, 1.0)
DURATION_S = 1e-4
LIMIT = 0.03


def times_s(log2: int, ratio: float, share: float, trials: int) -> tuple[int, tuple[tuple[float, ...], ...]]:
    """Return the automatic value, and the times of all trials for each T, from one run with the most exchanges."""
    transfer_s = ratio * DURATION_S
    setting = Setting(transfer_s - 8e-9, 8, 100 * DURATION_S, DURATION_S)
    where = machine(setting, send_overhead_s=share * transfer_s)
    call = hocket.Call(ranks=1 << log2, size_bytes=8, parameters={"T": "auto"})
    most = hocket.Call(ranks=1 << log2, size_bytes=8, parameters={"T": log2})
    found = hocket.simulate(ALGORITHM, most, machine=where, trials=hocket.Trials(trials))
    return prepare(hocket.find(ALGORITHM), call, where).parameters["T"], found.marks_s


def mean(values: tuple[float, ...]) -> float:
    """Return the mean."""
    return sum(values) / len(values)


@click.command()
@click.option("--most-log2", default=11, show_default=True, help="Largest number of ranks, as a power of two.")
@click.option("--trials", default=300, show_default=True, type=click.IntRange(min=2))
def main(*, most_log2: int, trials: int) -> None:
    """Measure, and print a table."""
    table = Table("log2 P", "c / duration", "send", "best T", "auto", "loss", "95 % interval", title="T = auto")
    losses = []
    for log2 in (log2 for log2 in LOGS if log2 <= most_log2):
        for ratio in RATIOS:
            for share in SHARES:
                auto, found = times_s(log2, ratio, share, trials)
                best = min(range(len(found)), key=lambda t, found=found: mean(found[t]))
                differences = tuple(a - b for a, b in zip(found[auto], found[best], strict=True))
                loss = mean(differences) / mean(found[best])
                spread = math.sqrt(sum((x - mean(differences)) ** 2 for x in differences) / (trials - 1) / trials)
                losses.append(loss)
                interval = f"+- {1.96 * spread / mean(found[best]):.1%}"
                point = (str(log2), f"{ratio:g}", f"{share:g} c")
                table.add_row(*point, str(best), str(auto), f"{loss:.1%}", interval)
    Console().print(table)
    good = sum(loss <= LIMIT for loss in losses)
    print(f"{good} of {len(losses)} points lose at most {LIMIT:.0%}; at worst {max(losses):.1%}")


if __name__ == "__main__":
    main()
