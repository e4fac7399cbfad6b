"""What a library chooses for the calls of a curve by itself, and how long that takes on a machine.

A log of NCCL with NCCL_DEBUG_SUBSYS=TUNING tells its choices (`src/enqueue.cc`): older versions print numbers and the
larger buffer of a rank, newer ones names, the elements that the caller counts, and the channels. Otherwise the
library's rules or NCCL's table say what it chooses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from hocket._native import Error
from hocket.base.call import Call
from hocket.definitions.libraries import BY_MACHINE, DEFAULTS
from hocket.definitions.machine import Machine
from hocket.judging.curves import Curve
from hocket.judging.finding import Finding
from hocket.judging.mention import Mentions
from hocket.rules.nccl.constants import VERSION, Version, nearest
from hocket.rules.nccl.defaults import with_channels
from hocket.rules.nccl.table import LIBRARY, RANKING
from hocket.rules.tuning_files.counterparts import LIBRARIES, PROTOCOLS
from hocket.rules.tuning_files.deciding import LibraryDecision, library_decision, on_machine
from hocket.rules.tuning_files.form import Choice, measured
from hocket.rules.tuning_files.hocket_rules import of_function
from hocket.simulating.simulation import Simulation, Trials, simulate

_MARK = "Bytes -> Algo "
_LINE = re.compile(
    rf"(?:\b(?P<function>[A-Z]\w+): +)?(?P<bytes>[0-9]{{1,15}}) {_MARK}(?P<algorithm>\w+) proto (?P<protocol>\w+)"
    r"(?: channel\{Lo\.\.Hi\}=\{(?P<first>[0-9]{1,4})\.\.(?P<last>[0-9]{1,4})\})?"
)
_OF_NCCL = re.compile(r"\b[NR]CCL_|[NR]CCL INFO|_perf\b|\b[nr]ccl-tests?\b|\balgbw\b")
_VERSION = re.compile(r"NCCL 2\.(?P<minor>[0-9]{1,3})")
_FUNCTIONS = {
    "AllGather": "allgather",
    "AllReduce": "allreduce",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
    "ReduceScatter": "reduce_scatter",
}
_ONE_TRIAL = Trials(count=1, threads=1)


@dataclass(frozen=True)
class LibraryChoice:
    """What a library chooses for a call.

    Attributes:
        library: The library.
        choice: Its algorithm, in its words; None if it is not known.
        time_s: The simulated time; None if it cannot be simulated.
        sentence: Why its choice is not known, or cannot be simulated.
        costs: In words, whether it has the costs of a protocol of the machine.
        instead: What NCCL's table says where the log tells another algorithm or protocol.
        source: The line of the log that tells it; empty if rules or tables do.
    """

    library: str
    choice: str | None
    time_s: float | None
    sentence: str = ""
    costs: str = ""
    instead: str = ""
    source: str = ""


def library_of_text(mentions: Mentions, machine: Machine, collective: str) -> str | None:
    """Return NCCL if a text is of NCCL, and the machine says what it decides by; None otherwise."""
    is_known = "gpu.generation" in machine.quantities and of_function(collective) in LIBRARIES[LIBRARY].algorithms
    return LIBRARY if is_known and _OF_NCCL.search(mentions.text) is not None else None


_GENERATIONS = (
    ("volta", re.compile("V100")),
    ("ampere", re.compile("A100|A800|A30")),
    ("hopper", re.compile("G?H[128]00|H20")),
    ("blackwell", re.compile("G?B[23]00")),
)


def other_accelerators(machine: Machine, mentions: Mentions) -> Iterator[Finding]:
    """Give that a text is of other GPUs than the machine has, if it names GPUs of one generation only."""
    own = machine.quantities.get("gpu.generation")
    generations = {name: one for one in mentions.of("gpu") for name, models in _GENERATIONS if models.match(one.value)}
    if own is not None and len(generations) == 1 and own not in generations:
        (name, one), *_ = generations.items()
        sentence = f"{one.sentence}, of generation {name}, machine {machine.name} has {own}: expect other times"
        yield Finding("hint", sentence, "gpu", one.source)


def choices_of(
    curve: Curve,
    machine: Machine,
    library: str | None,
    mentions: Mentions,
    left_out: Collection[str],
    simulations: Mapping[tuple[str, int], Simulation],
) -> dict[int, LibraryChoice]:
    """Return what a library chooses at each size of a curve; nothing if its decisions are not known.

    Args:
        curve: The curve.
        machine: The machine, with the layout of the job.
        library: The library.
        mentions: What the text says, of which the version of NCCL and its own choices count.
        left_out: The algorithms that would take too long to simulate.
        simulations: Those that have been made of the curve's calls, by algorithm and size.
    """
    if library not in (*DEFAULTS, *BY_MACHINE):
        return {}
    lines = _choices_of_log(mentions) if library == LIBRARY else {}
    version = _version(mentions)[0]
    on_node = int(machine.quantities.get("network.ranks_per_node", 1))
    choices: dict[int, LibraryChoice] = {}
    for call in (replace(each, parameters={}) for each in curve.calls):
        collective = curve.first.collective
        decision = library_decision(library, collective, call, ranks_per_node=on_node, machine=machine, version=version)
        if (line := _line_of(lines, collective, call)) is None:
            choices[call.size_bytes] = _simulated(library, decision, curve, machine, left_out, simulations)
            continue
        choice, source = line
        own_choice = with_channels(machine, of_function(collective), call.ranks, call.size_bytes, choice, version)
        own = on_machine(own_choice, library, collective, call, machine)
        instead = "" if decision.choice is None or _is_same(decision.choice, choice) else decision.choice
        simulated = _simulated(library, own, curve, machine, left_out, simulations)
        choices[call.size_bytes] = replace(simulated, instead=instead, source=source)
    return choices


def _is_same(name: str, choice: Choice) -> bool:
    """Return whether a choice in words has the algorithm and the protocol of another."""
    return f"{name}, ".startswith(f"{Choice(choice.algorithm, choice.parameters[:1])}, ")


def _simulated(
    library: str,
    decision: LibraryDecision,
    curve: Curve,
    machine: Machine,
    left_out: Collection[str],
    simulations: Mapping[tuple[str, int], Simulation],
) -> LibraryChoice:
    if decision.equivalent is None:
        return LibraryChoice(library, decision.choice, None, decision.sentence)
    algorithm, call = decision.equivalent
    if algorithm.name in left_out:
        return LibraryChoice(library, decision.choice, None, "not simulated, as it would take too long")
    earlier = simulations.get((algorithm.name, call.size_bytes))
    if library in BY_MACHINE and earlier is not None and call.parameters.items() <= earlier.parameters.items():
        return LibraryChoice(library, decision.choice, earlier.time_s.mean or None, costs=decision.costs)
    own_machine = machine if decision.protocol is None else machine.with_protocol(decision.protocol)
    try:
        run = simulate(algorithm, call, machine=own_machine, measured_as=curve.first.measured_as, trials=_ONE_TRIAL)
    except Error as error:
        return LibraryChoice(library, decision.choice, None, str(error))
    return LibraryChoice(library, decision.choice, run.time_s.mean or None, costs=decision.costs)


_Key = tuple[str, bool, int]
"""The collective, empty where a line does not name it; whether the bytes are those that the caller counts; the bytes.
"""


def _choices_of_log(mentions: Mentions) -> dict[_Key, tuple[Choice, str]]:
    """Return the choices that a log of NCCL tells, each with its first line."""
    choices: dict[_Key, tuple[Choice, str]] = {}
    if _MARK not in mentions.text:
        return choices
    for number, line in enumerate(mentions.text.split("\n"), start=1):
        if _MARK not in line or (match := _LINE.search(line)) is None or (choice := _choice(match)) is None:
            continue
        key = (_FUNCTIONS.get(match["function"], ""), match["last"] is not None, int(match["bytes"]))
        choices.setdefault(key, (choice, f"{mentions.file}:{number}"))
    return choices


def _choice(match: re.Match[str]) -> Choice | None:
    algorithm, protocol = _name_of(match["algorithm"], RANKING), _name_of(match["protocol"], PROTOCOLS)
    if algorithm is None or protocol is None:
        return None
    channels = int(match["last"]) - int(match["first"]) + 1 if match["last"] is not None else 0
    return Choice(algorithm, (("protocol", protocol), *([("channels", channels)] if channels > 0 else [])))


def _name_of(word: str, names: Collection[str]) -> str | None:
    """Return the name that a log has in capital letters or as a number."""
    by_word = {text: name for number, name in enumerate(names) for text in (str(number), name)}
    return by_word.get(word.lower())


def _line_of(lines: Mapping[_Key, tuple[Choice, str]], collective: str, call: Call) -> tuple[Choice, str] | None:
    """Return the choice that a log tells for a call, and its line."""
    largest = measured(LIBRARIES[LIBRARY].measures.get(of_function(collective), "size"), call.size_bytes, call.ranks)
    is_of_blocks = collective in ("allgather", "reduce_scatter")
    count_bytes = largest // call.ranks if is_of_blocks else largest
    keys = [(name, *size) for name in (collective, "") for size in ((True, count_bytes), (False, largest))]
    return next((lines[key] for key in keys if key in lines), None)


def _version(mentions: Mentions) -> tuple[Version, str]:
    """Return the version of NCCL whose table is nearest, and what the text tells if its version is another."""
    for value in mentions.values("library"):
        if (match := _VERSION.match(value)) is not None:
            version, is_exact = nearest(int(match["minor"]))
            return version, "" if is_exact else value
    return VERSION, ""


def choice_findings(choices: Mapping[int, LibraryChoice], mentions: Mentions) -> Iterator[Finding]:
    """Give what limits what is said of choices by NCCL's table: another version, and what the user sets."""
    by_table = [one for one in choices.values() if one.library == LIBRARY and not one.source]
    if not by_table:
        return
    version, other = _version(mentions)
    if other:
        yield Finding(
            "unknown", f"the text tells of {other}, the choices are by the table of NCCL {version}", "version"
        )
    for one in mentions.of("algorithm"):
        yield Finding("unknown", f"{one.sentence}: NCCL's table does not know that", "algorithm", one.source)
