"""Views: each answers a question by a title, a picture, facts, tables, and commands that reproduce it.

The page and the report display views; they do not know how a view's content is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, count, product
from typing import Any, TypeAlias, TypeVar

from hocket._native import Error
from hocket.base.checks import among
from hocket.base.packages import alt
from hocket.base.processors import processors
from hocket.base.results import TextTable
from hocket.base.units import format_count, format_ranks, format_time
from hocket.definitions.verification import verify
from hocket.drawing.link_map import drawn_links, link_chart
from hocket.drawing.plot import MOST_LINES
from hocket.drawing.winner_map import winner_chart, winners
from hocket.explorer import reproducing
from hocket.explorer.questions import Question
from hocket.judging.assessment import Assessment, assessment_table, finding_lines
from hocket.judging.judge import TEXT_NAME, judge, judge_sources
from hocket.judging.texts import Text, read
from hocket.measurements.formats import measurements_in
from hocket.measurements.measurement import DEFAULT, Facts
from hocket.simulating.comparison import Comparison
from hocket.simulating.explanation import explain
from hocket.simulating.race import compare
from hocket.simulating.simulation import simulate
from hocket.words import comparisons
from hocket.words.explanations import explanation_facts, explanation_tables, ranks_of_path
from hocket.words.simulations import busiest_links, measured, network_load
from hocket.words.verdicts import counterexample_text, finding_text

T = TypeVar("T")

OnDone: TypeAlias = Callable[[int, int], object]
"""Progress callback: receives the number of finished pieces of work and of all pieces."""

_MOST_COUNTEREXAMPLES = 3
_JUDGE = "judge"


@dataclass(frozen=True)
class View:
    """The content that a page or a report shows."""

    title: str
    source: reproducing.Source | None  # commands that reproduce it; None if there is no answer
    facts: tuple[tuple[str, str], ...] = ()  # names and their values
    refusals: tuple[tuple[str, str], ...] = ()  # parts without an answer, and the reasons; pages fold them
    chart: Mapping[str, Any] | None = None  # the picture, as a Vega-Lite chart; None if there is nothing to draw
    tables: tuple[TextTable, ...] = ()
    texts: tuple[str, ...] = ()  # texts with several lines
    other_view: View | None = None  # the same view for another machine

    def as_dict(self) -> dict[str, Any]:
        """Return the view as plain data."""
        return asdict(replace(self, chart=None)) | {"chart": self.chart}


def view(name: str, question: Question, on_done: OnDone) -> View:
    """Return a view, one of `VIEWS`; an Error says why the question has no answer."""
    draw = VIEWS[among("view", name, VIEWS)]
    if question.other_machine is None or (name == _JUDGE and question.is_judged_alone):
        return draw(question, on_done)
    views: list[View] = []
    errors: list[Error] = []
    for number, machine in enumerate((question.machine, question.other_machine)):
        try:
            panel = question.on_other() if number else question
            views.append(draw(panel, partial(tell_part, on_done, number, 2)))
        except Error as error:
            errors.append(error)
            views.append(View(f"machine {machine.name}", None, facts=(("no answer", str(error)),)))
    if len(errors) == len(views):
        raise errors[0]
    _share_times(one.chart for one in views if one.chart is not None)
    return replace(views[0], other_view=views[1])


def tell_part(on_done: OnDone, number: int, parts: int, progress: int, total: int) -> None:
    """Report progress as one of several equally long parts of the work."""
    on_done(number * total + progress, parts * total)


def _share_times(charts: Iterable[Mapping[str, Any]]) -> None:
    """Give all charts with a time axis the same axis."""
    axes = [
        (
            layer["encoding"]["y"],
            [row["time_s"] for rows in chart["datasets"].values() for row in rows if "time_s" in row],
        )
        for chart in charts
        for layer in chart.get("layer", ())
        if layer["encoding"].get("y", {}).get("field") == "time_s"
    ]
    times_s = [time_s for _, mine in axes for time_s in mine if time_s]
    ticks = sorted({tick for axis, _ in axes for tick in axis["axis"]["values"]})
    for axis, _ in axes:
        axis["scale"]["domain"] = [min(times_s), max(times_s)]
        axis["axis"]["values"] = ticks


def _times(question: Question, on_done: OnDone) -> View:
    measurements = [one for times in question.measured.values() for one in times]
    comparison = _compare(question, question.ranks[-1], on_done, defaults=question.defaults, measured=measurements)
    uses = comparison.answer()
    libraries = dict.fromkeys(default.library for default in comparison.defaults)
    choices = [
        (f"{name} without tuning", line) for name in libraries for line in comparisons.default_lines(comparison, name)
    ]
    ways = sorted({one.measured_as for one in measurements} - {"isolated"})
    has_lines = any(one.size_bytes > 0 and one.time_s.mean > 0 for one in comparison.simulations)
    return View(
        comparison.title,
        reproducing.comparing(question),
        facts=(
            *([("use", comparisons.answer_words(comparison.collective, uses))] if uses else []),
            *choices,
            *reproducing.scene_texts(question.scene),
            *_trials(question),
            *comparisons.expected_lines(comparison),
            *(("measured", f"as {way}; simulated as isolated") for way in ways),
        ),
        refusals=tuple(comparisons.not_compared_lines(comparison)),
        chart=_wide(comparison.plot(most=None if question.names else MOST_LINES)) if has_lines else None,
        tables=(
            comparisons.times_table(comparison),
            *([comparisons.measured_table(comparison)] if comparison.measured else []),
        ),
    )


def _compare(question: Question, ranks: int, on_done: OnDone, **more: Any) -> Comparison:
    """Compare on one rank count; `on_done` receives the number of finished simulations."""
    total = len(question.candidates) * len(question.sizes_bytes)
    return compare(
        question.candidates,
        question.calls(ranks, question.sizes_bytes),
        machine=question.machine,
        scene=question.scene,
        # Other threads simulate other calls.
        trials=replace(question.trials, threads=max(1, processors() // total)),
        on_done=lambda one: on_done(len(one.simulations) + len(one.not_compared), total),
        **more,
    )


def _trials(question: Question) -> list[tuple[str, str]]:
    remark = comparisons.ONE_SAMPLE if question.trials.count == 1 else comparisons.INTERVALS_NOTE
    return [("trials", f"{comparisons.trials_words(question.trials)}; {remark}")] if question.is_random else []


def _winner_map(question: Question, on_done: OnDone) -> View:
    rows: list[dict[str, Any]] = []
    refusals: list[tuple[str, str]] = []
    for number, ranks in enumerate(question.ranks):
        try:
            comparison = _compare(question, ranks, partial(tell_part, on_done, number, len(question.ranks)))
        except Error as error:
            refusals.append((format_count(ranks, "rank"), str(error)))
        else:
            rows += winners(comparison)
            if not comparison.simulations:
                refusals.append((format_count(ranks, "rank"), comparison.not_compared[0].sentence))
    if not rows:
        raise Error(refusals[0][1])
    title = f"The fastest {question.collective}, machine {question.machine.name}"
    numbers = [] if question.scene.starts else ["numbers: its time over the lower bound"]
    chart = winner_chart(
        rows, title=title, subtitle=[*numbers, *(": ".join(line) for line in reproducing.scene_texts(question.scene))]
    )
    columns = ("ranks", "size", "fastest", "time", "second")
    return View(
        title,
        reproducing.mapping(question),
        facts=(*reproducing.scene_texts(question.scene), *_trials(question)),
        refusals=tuple(refusals),
        chart=chart.to_dict(),
        tables=(
            TextTable(columns, tuple(tuple(str(row[column]) for column in columns) for row in rows), ("ranks", "time")),
        ),
    )


def _space_time(question: Question, on_done: OnDone) -> View:
    if question.scene.cadence is not None:
        simulation = _of_call(simulate, question, keep=["events"])
        facts = (
            ("time", f"{format_time(simulation.times_s[0])} {measured(simulation)}"),
            *reproducing.scene_texts(question.scene),
        )
        return View(simulation.title, reproducing.simulating(question), facts=facts, chart=_wide(simulation.plot()))
    explanation = _of_call(explain, question, among=question.sources.algorithms)
    title, facts = explanation.title, tuple(explanation_facts(explanation))
    if not explanation.steps:
        return View(title, reproducing.explaining(question), facts=(*facts, ("critical path", "nothing takes time")))
    parts, steps, remedies, faster = explanation_tables(explanation)
    return View(
        title,
        reproducing.explaining(question),
        facts=(*facts, ("ranks", ranks_of_path(explanation.steps))),
        chart=_wide(explanation.plot()),
        tables=(parts, remedies, *([] if faster is None else [faster]), steps),
    )


def _links(question: Question, on_done: OnDone) -> View:
    topology = question.machine.topology
    if topology is None:
        raise Error(f"machine {question.machine.name} has no topology, expected a machine with a topology")
    drawn_links(topology, 1)
    result = _of_call(simulate, question, keep=["links"])
    uses = {format_time(result.times_s[0]): result.link_uses}
    chart = link_chart(uses, topology, title=result.title, faults=result.faults, is_choosable=True)
    return View(
        result.title,
        reproducing.linking(question),
        facts=(*network_load(result), *reproducing.scene_texts(question.scene)),
        chart=chart.to_dict(),
        tables=(busiest_links(result.link_uses),),
    )


def _verdict(question: Question, on_done: OnDone) -> View:
    algorithm, ranks = question.explained_algorithm, question.verified_ranks
    numbers = count(1)
    verdict = verify(
        algorithm,
        ranks,
        parameters=question.values(algorithm),
        on_done=lambda: on_done(next(numbers), len(ranks)),
    )
    counterexamples = verdict.counterexamples[:_MOST_COUNTEREXAMPLES]
    left = len(verdict.counterexamples) - len(counterexamples)
    facts = [
        ("verdict", f"{'ok' if verdict.ok else 'WRONG'}, {finding_text(verdict.findings)}"),
        *([("not shown", format_count(left, "more counterexample"))] if left else []),
        *((f"not for P = {format_ranks([one.ranks])}", one.sentence) for one in verdict.refusals[:1]),
    ]
    return View(
        f"{algorithm.label} is {'right' if verdict.ok else 'wrong'}",
        reproducing.verifying(question),
        facts=tuple(facts),
        texts=tuple(counterexample_text(counterexample, algorithm) for counterexample in counterexamples),
    )


def _judgement(question: Question, on_done: OnDone) -> View:
    facts = _facts_of(question) if question.output else Facts()
    machine = None if question.is_judged_alone else question.machine
    if question.output:
        assessment = judge_sources([read(Text(question.output, TEXT_NAME, facts))], machine=machine)
    elif question.default_times:
        assessment = judge(chain.from_iterable(question.default_times.values()), machine=machine)
    else:
        raise Error("nothing to judge, expected the output of a benchmark, or times of a library's own choices")
    chart = None
    with suppress(Error):  # no curve has several sizes
        panels = assessment.plot().vconcat
        chart = _wide(panels[0]) if len(panels) == 1 else assessment.plot().to_dict()
    return View(
        _judgement_title(assessment),
        reproducing.judging(question, facts),
        facts=(*_judgement_lines(assessment), *_form_lines(facts)),
        chart=chart,
        tables=tuple(_judgement_tables(assessment)),
    )


def _facts_of(question: Question) -> Facts:
    """Return what the pasted text does not tell: its ranks and its collective are those of the form."""
    ranks, collective = question.ranks[-1], question.collective
    for told_collective, told_ranks in product((None, collective), (None, ranks)):
        facts = Facts(DEFAULT, told_ranks, collective=told_collective)
        with suppress(Error):
            measurements_in(question.output, "", facts)
            break
    return facts


def _form_lines(facts: Facts) -> list[tuple[str, str]]:
    """Return what the form tells of a text."""
    parts = [facts.collective or "", "" if facts.ranks is None else format_count(facts.ranks, "rank")]
    words = ", ".join(part for part in parts if part)
    return [("from the form", words)] if words else []


def _judgement_title(assessment: Assessment) -> str:
    """Return the verdict of a curve, or how many curves have which verdict."""
    if len(assessment.curves) == 1:
        return assessment.title
    kinds = [one.verdict.kind for one in assessment.curves]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    return f"{format_count(len(kinds), 'curve')}: {counts}"


def _judgement_lines(assessment: Assessment) -> list[tuple[str, str]]:
    """Return what follows besides the title."""
    lines: list[tuple[str, str]] = []
    for one in assessment.curves:
        lines += [(one.curve.title, f"{one.verdict.sentence}.")] if len(assessment.curves) > 1 else []
        lines += finding_lines(one.findings[1:])
    return [*lines, *finding_lines(assessment.findings)]


def _judgement_tables(assessment: Assessment) -> list[TextTable]:
    """Return one table for all curves; none for times that were judged without a machine."""
    tables = [(one, table) for one in assessment.curves if (table := assessment_table(one)) is not None]
    if len(assessment.curves) <= 1:
        return [table for _, table in tables]
    rows = tuple((one.curve.title, *row) for one, table in tables for row in table.rows)
    return [TextTable(("call", *table.columns), rows, table.right) for _, table in tables[:1]]


def _of_call(function: Callable[..., T], question: Question, **more: Any) -> T:
    """Return what a function tells of the call to explain: of the first trial, in the scene."""
    algorithm, call = question.explained_algorithm, question.explained_call
    trials = replace(question.trials, count=1, until_decided=False)
    return function(algorithm, call, machine=question.machine, scene=question.scene, trials=trials, **more)


def _wide(drawing: alt.LayerChart) -> dict[str, Any]:
    """Return the chart with the width of its place on the page."""
    return {**drawing.to_dict(), "width": "container"}


VIEWS: Mapping[str, Callable[[Question, OnDone], View]] = {
    "times": _times,
    "map": _winner_map,
    "space-time": _space_time,
    "links": _links,
    "verdict": _verdict,
    _JUDGE: _judgement,
}
"""The views by name, in their order."""


def names_of_views(question: Question) -> list[str]:
    """Return the names of the views that a report has: all, but the judgement only if there are times to judge."""
    return [name for name in VIEWS if name != _JUDGE or question.output or question.default_times]


def sections(question: Question, names: Iterable[str], on_done: OnDone) -> list[dict[str, Any]]:
    """Return the named views as plain data for a report, each or why it cannot be made; an Error if none can."""
    view_names = list(names)
    entries: list[dict[str, Any]] = []
    for number, name in enumerate(view_names):
        on_done(number, len(view_names))
        try:
            content = view(name, question, partial(tell_part, on_done, number, len(view_names)))
            entries.append({"view": content.as_dict()})
        except Error as error:
            entries.append({"error": f"{name}: {error}"})
    if not any("view" in entry for entry in entries):
        raise Error(entries[0]["error"])
    return entries
