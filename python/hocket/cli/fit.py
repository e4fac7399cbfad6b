"""`hocket fit`: a machine file fitted to measured times of collectives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any

from hocket.base import files
from hocket.base.executors import ExecutorKind, open_executor
from hocket.base.units import format_bytes, format_count, format_ratio
from hocket.cli import options
from hocket.cli.command import command
from hocket.cli.measurements import FORMATS_MEASURED, facts_of
from hocket.cli.output import print_csv, print_facts, print_result, print_table, print_words, progress, write_picture
from hocket.cli.printing import note, say
from hocket.cli.values import Read
from hocket.definitions.machine import Discrepancy
from hocket.fitting.conditions import Condition
from hocket.fitting.fit import DEFAULT_CELLS, LEAST_STARTS
from hocket.fitting.fit import fit as fit_machine
from hocket.fitting.result import (
    AS_FAST,
    BANDS,
    LEAST_CALLS,
    Change,
    Deviation,
    Diagnosis,
    Fit,
    Judgement,
    Kind,
    deviation,
)
from hocket.fitting.searching import ENDED
from hocket.measurements.formats import read_measurements
from hocket.measurements.measurement import Facts, Measurement, Reading

_MOST_NAMES = 6  # number of shown algorithms without a counterpart


_CONDITION = Read(Condition.parse, name="CONDITION")


@command(
    fields={**FORMATS_MEASURED, "cells": DEFAULT_CELLS, "starts": LEAST_STARTS},
    only=_CONDITION,
    hold_out=_CONDITION,
    facts_of=facts_of,
    data_form=options.data_form,
    search=("cells", "starts", "seed", "time_limit_s", "has_diagnosis"),
)
def fit(
    measurements: tuple[str, ...],
    machine: str,
    output: str | None,
    only: tuple[Condition, ...],
    hold_out: tuple[Condition, ...],
    facts_of: Callable[[int], list[Facts]],
    search: dict[str, Any],
    plot: str | None,
    executor: ExecutorKind,
    jobs: int,
    data_form: options.DataForm,
) -> None:
    """Fit a machine file to measured times of collectives, or judge how well it predicts them.

    MEASUREMENTS are files, also within logs: {formats}. If the machine file has no values to fit, the command only
    judges it.
    """
    options.check_files({"--output": output, "--plot": plot})
    readings = [*map(read_measurements, measurements, facts_of(len(measurements)))]
    for sentence in (each for reading in readings for each in (*reading.cuts, *reading.remarks)):
        note(sentence)
    with open_executor(executor, jobs=jobs, say=note) as pool:
        machine_fit = fit_machine(
            [one for reading in readings for one in reading.measurements],
            machine=machine,
            only=[one.text for one in only],
            hold_out=[one.text for one in hold_out],
            executor=pool,
            display=progress,
            **search,
        )
    write_picture(plot, machine_fit.plot)
    if output is not None:
        files.write(output, machine_fit.machine.text)
    if output is None or not files.is_stdout(output):
        _show(machine_fit, readings, only, [("file", output), ("plot", plot)], data_form)
    if machine_fit.ended == "interrupted":
        raise KeyboardInterrupt


def _show(
    fit: Fit,
    readings: Sequence[Reading],
    only: Sequence[Condition],
    files: Sequence[tuple[str, str | None]],
    data_form: options.DataForm,
) -> None:
    def is_taken(measurement: Measurement) -> bool:
        return all(each.holds(measurement) for each in only)

    unknown = Counter(f"{one.collective} {one.algorithm}" for each in readings for one in each.unknown if is_taken(one))
    if data_form == "json":
        print_result({**fit.as_dict(), "no_counterpart": dict(unknown), **dict(files)})
        return
    if data_form == "csv":
        print_csv((fit.diagnosis or fit).records())
        return
    if fit.ended in ENDED:
        print_words(ENDED[fit.ended])
    say(fit.title, bold=True)
    if fit.values:
        _print_values(fit)
    if fit.is_beyond_noise:
        noise = "5 % is usual" if fit.noise is None else f"times of the same call differ by {100 * fit.noise:.0f} %"
        print_words(
            "the fit is far beyond the noise of the measurements: simulated times differ from measured times by "
            f"{100 * fit.scatter:.0f} %, {noise}; the intervals do not hold: check the algorithms, or try another "
            "model or topology"
        )
    if fit.diagnosis:
        _print_diagnosis(fit.diagnosis)
    else:
        _print_deviations(fit)
        _print_discrepancies(fit)
        _print_regrets(fit)
    count = sum(is_taken(one) for reading in readings for one in reading.measurements)
    _print_left_out(unknown, f"of {count + unknown.total()} measurements have no counterpart in Hocket")
    _print_left_out(Counter(fit.left_out), "measured calls cannot be simulated on this machine")
    print_facts([(what, path) for what, path in files if path is not None])


def _print_values(fit: Fit) -> None:
    remarks = ["at a bound" if one.is_at_bound else "" if one.is_known else "wide" for one in fit.values]
    rows = [[one.name, one.text, one.interval, remark] for one, remark in zip(fit.values, remarks, strict=True)]
    print_table(["key", "value", "95 % interval", ""], rows, right=["value"])
    for value in fit.values:
        if not value.is_known:
            print_words(f"the measurements determine {value.name} poorly: add {value.advice}")
    for pair in fit.pairs:
        names = f"{pair.first} and {pair.second} cannot be told apart (correlation {pair.correlation:.2f})"
        print_words(f"{names}: add {pair.advice}")
    if at_bounds := [one.name for one in fit.values if one.is_at_bound]:
        print_words(f"at a bound of the range, so that the range decides: {', '.join(at_bounds)}")
    for sentence in fit.minima:
        print_words(sentence)


def _print_deviations(fit: Fit) -> None:
    columns = ["calls", "median", "bias", *(f"{band:.0%}" for band in BANDS)]
    say()
    print_words(
        "median of |ln(simulated / measured)|; bias: the median with its sign; last columns: calls within a deviation"
    )
    rows = [[use, *_cells(one)] for use, one in fit.deviations.items()]
    print_table(["", *columns], rows, right=columns)
    groups: dict[tuple[str, ...], Callable[[Judgement], tuple[Any, ...]]] = {
        ("collective", "algorithm"): lambda one: (one.collective, one.algorithm),
        ("size",): lambda one: (one.size_bytes,),
        ("ranks",): lambda one: (one.ranks,),
    }
    for titles, group_of in groups.items():
        text_of = format_bytes if titles == ("size",) else str
        rows = [
            [*map(text_of, group), *_cells(deviation(one for one in fit.cells if group_of(one) == group))]
            for group in sorted(set(map(group_of, fit.cells)))
        ]
        print_table([*titles, *columns], rows, right=["size", "ranks", *columns])


def _print_discrepancies(fit: Fit) -> None:
    """Print between which factors nine of ten held-out calls are."""
    kinds = fit.machine.discrepancies
    if not kinds or fit.coverage is None:
        return
    say()
    print_words(
        "nine of ten held-out calls: measured / simulated is between low and high; "
        f"{fit.coverage:.0%} of the calls are within intervals made without them"
    )
    pairs = "" if fit.ratio_coverage is None else f"; that of other jobs holds {fit.ratio_coverage:.0%} of the pairs"
    print_words(
        f"nine of ten pairs of algorithms: measured and simulated ratio differ by at most the factor `ratio`{pairs}"
    )
    columns = ["calls", "low", "high", "ratio"]
    rows = [
        [
            *(one.collective or "all", one.algorithm or "all", _sizes(one), str(one.calls)),
            *(f"{one.low:g}", f"{one.high:g}", "-" if one.algorithm else f"{one.ratio:.3g}"),
        ]
        for one in kinds
    ]
    print_table(["collective", "algorithm", "sizes", *columns], rows, right=columns)


def _print_diagnosis(diagnosis: Diagnosis) -> None:
    """Print what would help most, what would help each kind of calls, and which changes spoil others."""
    bad = [one for one in diagnosis.kinds if one.median > diagnosis.noise]
    say()
    if not bad:
        print_words(f"all kinds of calls are within the noise of {diagnosis.noise:.0%}: nothing is to be mended")
        return
    details = ""
    if len(diagnosis.changes) == 1:
        (one,) = diagnosis.changes
        details = (
            f", which takes away {one.gain:.0%} ({one.low:.0%} to {one.high:.0%}) of the deviations, mends "
            f"{format_count(len(one.mends), 'kind')} of calls and spoils {len(one.spoils) or 'none'}"
        )
    print_words(f"what would help most: {_names(diagnosis.changes)}{details}")
    right = f"{len(diagnosis.kinds) - len(bad)} of {format_count(len(diagnosis.kinds), 'kind')} of calls"
    print_words(
        f"{right} are within {diagnosis.noise:.0%}; of the others, off: median of |ln(simulated / measured)|; gain: "
        "the share of it that the change takes away, and its 90 % interval; spoils: how many kinds get worse"
    )
    columns = ["ranks", "calls", "off", "bias", "gain", "interval", "spoils"]
    rows = [[one.collective, one.algorithm, one.sizes, *_kind_cells(one)] for one in bad]
    print_table(["collective", "algorithm", "sizes", "change", *columns], rows, right=columns)


def _names(changes: Sequence[Change]) -> str:
    texts = " or ".join(one.change for one in changes)
    return f"cannot tell: {texts}" if len(changes) > 1 else texts or "none"


def _kind_cells(one: Kind) -> list[str]:
    change = _names(one.changes) if one.calls >= LEAST_CALLS else "too few calls"
    cells = [change, str(one.ranks), str(one.calls), f"{one.median:.2f}", f"{one.bias:+.2f}"]
    if not one.changes:
        return [*cells, "-", "-", "-"]
    best = one.changes[0]
    return [*cells, f"{best.gain:.0%}", f"{best.low:.0%} to {best.high:.0%}", str(len(best.spoils))]


def _sizes(kind: Discrepancy) -> str:
    if kind.below_bytes is not None:
        return f"below {format_bytes(kind.below_bytes)}"
    return f"from {format_bytes(kind.from_bytes)}" if kind.from_bytes else "all"


def _cells(one: Deviation) -> list[str]:
    return [str(one.cells), f"{one.median:.3f}", f"{one.bias:+.2f}", *(f"{share:.0%}" for share in one.within)]


def _print_regrets(fit: Fit) -> None:
    """Print how much slower simulated choices are than the best measured ones and than the libraries' own choices."""
    for what, is_held_out in (("", False), (", held out", True)):
        some = [one for one in fit.regrets if one.is_held_out == is_held_out]
        if not some:
            continue
        right = sum(one.is_right for one in some)
        mean_regret = format_ratio(mean(one.regret for one in some))
        say()
        print_words(
            f"choices by simulation{what}: right at {right} of {format_count(len(some), 'point')}; "
            f"{mean_regret} the time of the best measured algorithm on average"
        )
        worst = max(some, key=lambda one: one.regret)
        if not worst.is_right:
            where = f"{worst.collective} of {format_bytes(worst.size_bytes)} on {format_count(worst.ranks, 'rank')}"
            print_words(f"  at worst {format_ratio(worst.regret)}: {where}, {worst.choice} instead of {worst.best}")
        ratios = [(one.choice_s / one.default_s, one.default_s / one.best_s) for one in some if one.default_s]
        if ratios:
            slower = sum(ratio > AS_FAST for ratio, _ in ratios)
            own = f"{format_ratio(mean(default for _, default in ratios))} at {len(ratios)} points"
            print_words(f"  the library's own choices: {own}; simulated choices are slower at {slower}")


def _print_left_out(names: Counter[str], what: str) -> None:
    if not names:
        return
    names_and_counts = [f"{name} ({count})" for name, count in names.most_common(_MOST_NAMES)]
    more = len(names) - len(names_and_counts)
    print_words(f"{names.total()} {what}: {', '.join(names_and_counts)}{f' and {more} more names' if more > 0 else ''}")
