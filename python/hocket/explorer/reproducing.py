"""The command line and the Python code that reproduce a view."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hocket.base.units import format_ranks
from hocket.definitions.library import COLLECTIVES
from hocket.explorer.questions import Question
from hocket.measurements.measurement import DEFAULT, Facts
from hocket.simulating.arrivals import arrivals_text
from hocket.simulating.faults import as_faults, join
from hocket.simulating.scenes import Scene
from hocket.simulating.simulation import UNTIL_DECIDED

_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
_OUTPUT_FILE = "out.txt"
_WIDTH = 100  # characters of a line of names


@dataclass(frozen=True)
class Source:
    """A command line, and Python code that prints the same; both have the machine's text if that is in no file."""

    command: str
    python: str


def comparing(question: Question) -> Source:
    """Return the source of a comparison."""
    defaults = f", defaults={list(question.defaults)}" if question.defaults else ""
    measured = ", measured=measured" if question.measured else ""
    body = f"""\
{_measured(question)}calls = [{_call(question, question.ranks[-1])} for size_bytes in {_sizes(question)}]
found = hocket.compare(algorithms, calls, machine=machine{_scene(question)}{_trials(question)}{defaults}{measured})
for best in found.best():
    print(best)"""
    words = ["compare", *_compared_words(question, question.ranks[-1:]), *(["--defaults"] if question.defaults else [])]
    names = [file.algorithm or DEFAULT for file in question.measured]
    each_name = names if len(set(names)) > 1 else names[:1]
    words += _words(("measured", file.path) for file in question.measured)
    words += _words(("measured-algorithm", name) for name in each_name)
    return Source(_command(question, words), _python(question, _candidates(question), body))


def _measured(question: Question) -> str:
    """Return the lines that read measured times, if there are any."""
    files = (
        (json.dumps(file.path), f"Facts({file.algorithm or DEFAULT!r}, {file.ranks})") for file in question.measured
    )
    lines = "".join(
        f"    *hocket.read_measurements({path}, {facts_text}).measurements,\n" for path, facts_text in files
    )
    return f"from hocket.measurements.measurement import Facts\n\nmeasured = [\n{lines}]\n" if lines else ""


def mapping(question: Question) -> Source:
    """Return the source of a comparison over all rank counts."""
    body = f"""\
for ranks in {list(question.ranks)}:
    calls = [{_call(question, "ranks")} for size_bytes in {_sizes(question)}]
    found = hocket.compare(algorithms, calls, machine=machine{_scene(question)}{_trials(question)})
    print(ranks, *found.best())"""
    words = ["report", "map.html", *_compared_words(question, question.ranks), "--view", "map"]
    return Source(_command(question, words), _python(question, _candidates(question), body))


def explaining(question: Question) -> Source:
    """Return the source of an explanation."""
    end = "print(found.time_s, found.parts_s)\nfor step in found.steps:\n    print(step)"
    return _of_one_call(question, "explain", ["--plot", "space-time.html"], _among(question), end)


def linking(question: Question) -> Source:
    """Return the source of link loads."""
    end = "for use in found.link_uses:\n    print(use)"
    return _of_one_call(question, "simulate", ["--links", "links.html"], ', keep=["links"]', end)


def simulating(question: Question) -> Source:
    """Return the source of a space-time picture of a cadence."""
    end = "for event in found.events:\n    print(event)"
    return _of_one_call(question, "simulate", ["--plot", "space-time.html"], ', keep=["events"]', end)


def _of_one_call(question: Question, verb: str, files: Sequence[str], argument: str, end: str) -> Source:
    algorithm, call = question.explained_algorithm, question.explained_call
    options = [
        ("ranks", question.ranks[-1]),
        ("size", _size(question.size_explained_bytes) if COLLECTIVES[question.collective].has_size else None),
        *_parameter_options(call.parameters.items()),
        ("seed", question.trials.seed or None),
        *scene_texts(question.scene),
    ]
    words = [verb, algorithm.collective, algorithm.name, *_words(options), *files]
    seed = f", trials=hocket.Trials(seed={question.trials.seed})" if question.trials.seed else ""
    body = f"""\
call = hocket.Call(ranks={question.ranks[-1]}, size_bytes={question.size_explained_bytes}{_parameters(call.parameters)})
found = hocket.{verb}(algorithm, call, machine=machine{_scene(question)}{seed}{argument})
{end}"""
    return Source(_command(question, words), _python(question, _algorithm_line(question), body))


def verifying(question: Question) -> Source:
    """Return the source of a verification."""
    algorithm, ranks = question.explained_algorithm, list(question.verified_ranks)
    without_gaps = range(ranks[0], ranks[-1] + 1)
    numbers = without_gaps if ranks == list(without_gaps) else ranks
    body = f"""\
verdict = hocket.verify(algorithm, {numbers}{_parameters(question.values(algorithm))})
print(verdict.ok, verdict.checked)
for counterexample in verdict.counterexamples:
    print(counterexample["message"])"""
    words = ["verify", algorithm.collective, algorithm.name, "--ranks", _ranks(question.verified_ranks)]
    declared = {parameter.name for parameter in algorithm.parameters}
    parameters = [(name, value) for name, value in question.parameters if name in declared]
    return Source(
        shlex.join(["hocket", *words, *_words([*_parameter_options(parameters), *_load(question)])]),
        _python(question, _algorithm_line(question), body, needs_machine=False),
    )


def judging(question: Question, facts: Facts) -> Source:
    """Return the source of a judgement: of a file with the output, of which these facts are told, or of each file."""
    files: list[tuple[str, dict[str, object]]] = [
        (file.path, {"ranks": file.ranks, "algorithm": file.algorithm}) for file in question.default_times
    ]
    if question.output:
        files = [(_OUTPUT_FILE, {"ranks": facts.ranks, "collective": facts.collective})]
    commands, lines = zip(*(_judging(question, path, values) for path, values in files), strict=True)
    machine = [] if question.is_judged_alone else [_machine(question)]
    return Source("\n".join(commands), "\n".join(["import hocket", "", *machine, *lines]))


def _judging(question: Question, path: str, values: Mapping[str, object]) -> tuple[str, str]:
    """Return the command line and the Python code that judge a file."""
    arguments = {name: value for name, value in values.items() if value is not None}
    words = ["judge", path, *_words(arguments.items())]
    line = shlex.join(["hocket", *words]) if question.is_judged_alone else _on_machine(question, words)
    machine = "" if question.is_judged_alone else ", machine=machine"
    texts = "".join(f", {name}={json.dumps(value)}" for name, value in arguments.items())
    code = f"""\
found = hocket.judge({json.dumps(path)}{machine}{texts})
for one in found.curves:
    print(*one.findings, *one.rows, sep="\\n")"""
    return line, code


def _command(question: Question, words: Sequence[str]) -> str:
    """Return a command line with options for the machine and for loaded files."""
    return _on_machine(question, words, *_words(_load(question)))


def _on_machine(question: Question, words: Sequence[str], *more_words: str) -> str:
    """Return a command line with the machine; if the machine is not in a file, its text comes with it."""
    line = shlex.join(["hocket", *words, "--machine", question.machine_name or "/dev/stdin", *more_words])
    if question.machine_name:
        return line
    text, end = question.machine.text.rstrip(), "END"
    while end in text.splitlines():
        end += "_"
    return f"{line} <<'{end}'\n{text}\n{end}"


def scene_texts(scene: Scene) -> list[tuple[str, str]]:
    """Return what a scene says, by the keys of a scene file."""
    arrivals = None if scene.arrivals is None else arrivals_text(scene.arrivals)
    texts = {"arrivals": arrivals, "cadence": scene.cadence, "faults": join(as_faults(scene.faults))}
    return [(key, text) for key, text in texts.items() if text]


def _scene(question: Question) -> str:
    return "".join(f", {name}={json.dumps(value)}" for name, value in question.scene.parts.items())


def _compared_words(question: Question, ranks: Sequence[int]) -> list[str]:
    words, sizes = [question.collective, *question.names, "--ranks", _ranks(ranks)], question.sizes_bytes
    if COLLECTIVES[question.collective].has_size:
        ends = f"{_size(sizes[0])}..{_size(sizes[-1])}"
        words += ["--sizes", ends if _is_doubling(sizes) else ",".join(map(_size, sizes))]
    trials = None if question.trials.until_decided else question.trials.count
    numbers = [("trials", trials), ("seed", question.trials.seed or None)]
    return [*words, *_words([*scene_texts(question.scene), *_parameter_options(question.parameters), *numbers])]


def _words(options: Iterable[tuple[str, object]]) -> list[str]:
    """Return the words of options; None is an option that is not given."""
    return [word for name, value in options if value is not None for word in (f"--{name}", str(value))]


def _parameter_options(parameters: Iterable[tuple[str, object]]) -> list[tuple[str, str]]:
    return [("param", f"{name}={value}") for name, value in parameters]


def _load(question: Question) -> list[tuple[str, str]]:
    return [("load", path) for path in question.sources.load]


def _ranks(ranks: Sequence[int]) -> str:
    return format_ranks(ranks).replace(" ", "")


def _size(size_bytes: int) -> str:
    """Return a size without rounding, as the command line reads it."""
    factor, unit = next((pair for pair in _UNITS if size_bytes and size_bytes % pair[0] == 0), _UNITS[-1])
    return f"{size_bytes // factor}{unit}"


def _is_doubling(sizes_bytes: Sequence[int]) -> bool:
    return len(sizes_bytes) > 2 and all(low > 0 and high == 2 * low for low, high in pairwise(sizes_bytes))


def _python(question: Question, *parts: str, needs_machine: bool = True) -> str:
    load = "".join(f", *hocket.load({json.dumps(path)})" for path in question.sources.load)
    library = [f"library = [*hocket.catalogue(){load}]"] if load else []
    machine = [_machine(question)] if needs_machine else []
    return "\n".join(["import hocket", "", *machine, *library, *parts])


def _machine(question: Question) -> str:
    if question.machine_name:
        return f"machine = hocket.Machine.load({json.dumps(question.machine_name)})"
    text = question.machine.text
    is_plain = "\\" not in text and '"""' not in text and text.endswith("\n")
    quoted = '"""' + text + '"""' if is_plain else repr(text)
    return f"machine = hocket.Machine.parse({quoted})"


def _candidates(question: Question) -> str:
    names = " ".join(algorithm.name for algorithm in question.candidates)
    lines = "\n".join(f"    {line}" for line in textwrap.wrap(names, _WIDTH, break_on_hyphens=False))
    label = f'f"{question.collective}/{{name}}"'
    return f'names = """\n{lines}\n"""\nalgorithms = [hocket.find({label}{_among(question)}) for name in names.split()]'


def _algorithm_line(question: Question) -> str:
    return f"algorithm = hocket.find({json.dumps(question.explained_algorithm.label)}{_among(question)})"


def _among(question: Question) -> str:
    return ", among=library" if question.sources.load else ""


def _call(question: Question, ranks: object) -> str:
    (call,) = question.calls(1, [0])
    return f"hocket.Call(ranks={ranks}, size_bytes=size_bytes{_parameters(call.parameters)})"


def _parameters(values: Mapping[str, float | str]) -> str:
    return f", parameters={values}" if values else ""


def _trials(question: Question) -> str:
    trials = question.trials
    if trials == UNTIL_DECIDED:
        return ""
    until_text = ", until_decided=True" if trials.until_decided else ""
    return f", trials=hocket.Trials(count={trials.count}, seed={trials.seed}{until_text})"


def _sizes(question: Question) -> str:
    sizes = question.sizes_bytes
    return f"[{sizes[0]} << i for i in range({len(sizes)})]" if _is_doubling(sizes) else str(list(sizes))
