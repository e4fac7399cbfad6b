"""What a library chooses for the calls of a curve by itself, and how long that takes on a machine.

A log of NCCL with NCCL_DEBUG_SUBSYS=TUNING tells its choices (`src/enqueue.cc`): older versions print numbers and the
larger buffer of a rank, newer ones names, the elements that the caller counts, and the channels. Otherwise the
library's rules or NCCL's table say what it chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from hocket._native import Error
from hocket.base.call import Call
from hocket.definitions.libraries import BY_MACHINE, DEFAULTS
from hocket.definitions.machine import Machine
from hocket.judging.assessment import LibraryChoice
from hocket.judging.expecting import Expectation, simulate_decision
from hocket.judging.finding import Finding, conclude
from hocket.judging.lines import FORMS, has_form
from hocket.judging.mention import Mentions
from hocket.rules.nccl.defaults import largest_bytes, with_channels
from hocket.rules.nccl.table import LIBRARY, VERSION, Version, nearest
from hocket.rules.tuning_files.counterparts import ALGORITHMS, LIBRARIES, PROTOCOLS
from hocket.rules.tuning_files.deciding import LibraryDecision, library_decision, on_machine
from hocket.rules.tuning_files.form import Choice
from hocket.rules.tuning_files.hocket_rules import of_function

_MARK = "Bytes -> Algo "
_FUNCTIONS = {
    "AllGather": "allgather",
    "AllReduce": "allreduce",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
    "ReduceScatter": "reduce_scatter",
}


def library_of_text(mentions: Mentions, machine: Machine, collective: str) -> str | None:
    """Return NCCL if a text is of NCCL, and the machine says what it decides by; None otherwise."""
    is_known = "gpu.generation" in machine.quantities and of_function(collective) in LIBRARIES[LIBRARY].algorithms
    return LIBRARY if is_known and has_form(mentions.text, "output of NCCL") else None


def choices_of(expectation: Expectation, mentions: Mentions) -> dict[int, LibraryChoice]:
    """Return what the library chooses at each size, by its version and choices in the text; nothing if unknown."""
    machine, library = expectation.machine, expectation.library
    if library not in (*DEFAULTS, *BY_MACHINE):
        return {}
    lines = _choices_of_log(mentions) if library == LIBRARY else {}
    version = _version(mentions)[0]
    choices: dict[int, LibraryChoice] = {}
    collective = expectation.curve.first.collective
    for call in expectation.curve.calls.values():
        decision = library_decision(library, collective, call, machine=machine, version=version)
        if (line := _line_of(lines, collective, call)) is None:
            choices[call.size_bytes] = _simulated(expectation, library, decision)
            continue
        choice, source = line
        own_choice = with_channels(machine, of_function(collective), call.ranks, call.size_bytes, choice, version)
        own = on_machine(own_choice, library, collective, call, machine)
        of_table = decision.choice or ""
        is_same = f"{of_table}, ".startswith(f"{Choice(choice.algorithm, choice.parameters[:1])}, ")  # in any channels
        instead = "" if is_same else of_table
        simulated = _simulated(expectation, library, own)
        choices[call.size_bytes] = replace(simulated, instead=instead, source=source)
    return choices


def _simulated(expectation: Expectation, library: str, decision: LibraryDecision) -> LibraryChoice:
    choice = partial(LibraryChoice, library, decision.choice)
    if decision.equivalent is None:
        return choice(None, decision.sentence)
    algorithm, call = decision.equivalent
    if algorithm.name in expectation.left_out:
        return choice(None, "not simulated, as it would take too long")
    run = expectation.simulations.get((algorithm.name, call.size_bytes))
    if run is None or library not in BY_MACHINE or not call.parameters.items() <= run.parameters.items():
        try:
            run = simulate_decision(decision, expectation.machine, expectation.curve.first.measured_as)
        except Error as error:
            return choice(None, str(error))
    return choice(run.time_s.mean or None, costs=decision.costs)


_Key = tuple[str, bool, int]
"""The collective, empty where a line does not name it; whether the bytes are those that the caller counts; the bytes.
"""


def _choices_of_log(mentions: Mentions) -> dict[_Key, tuple[Choice, str]]:
    """Return the choices that a log of NCCL tells, each with its first line."""
    choices: dict[_Key, tuple[Choice, str]] = {}
    algorithms, protocols = (
        {word: name for number, name in enumerate(names) for word in (str(number), name)}
        for names in (ALGORITHMS, PROTOCOLS)
    )
    for number, line in enumerate(mentions.text.split("\n"), start=1):
        match = FORMS["choice of NCCL"].search(line) if _MARK in line else None
        if match is None:
            continue
        algorithm, protocol = algorithms.get(match["algorithm"].lower()), protocols.get(match["protocol"].lower())
        if algorithm is not None and protocol is not None:
            has_channels = match["last"] is not None
            channels = int(match["last"]) - int(match["first"]) + 1 if has_channels else 0
            choice = Choice(algorithm, (("protocol", protocol), *([("channels", channels)] if channels > 0 else [])))
            key = (_FUNCTIONS.get(match["function"], ""), has_channels, int(match["bytes"]))
            choices.setdefault(key, (choice, f"{mentions.file}:{number}"))
    return choices


def _line_of(lines: Mapping[_Key, tuple[Choice, str]], collective: str, call: Call) -> tuple[Choice, str] | None:
    largest = largest_bytes(of_function(collective), call.size_bytes, call.ranks)
    is_of_blocks = collective in ("allgather", "reduce_scatter")
    count_bytes = largest // call.ranks if is_of_blocks else largest
    keys = [(name, *size) for name in (collective, "") for size in ((True, count_bytes), (False, largest))]
    return next((lines[key] for key in keys if key in lines), None)


def _version(mentions: Mentions) -> tuple[Version, str]:
    """Return the version of NCCL whose table is nearest, and what the text tells if its version is another."""
    for value in mentions.values("library"):
        if (match := FORMS["version of NCCL"].match(value)) is not None:
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
        yield conclude("another version", other=other, version=version)
    for one in mentions.of("algorithm"):
        yield conclude("choice of the user", source=one.source, told=one.sentence)
