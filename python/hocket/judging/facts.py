"""The facts that a text tells of its measurements: the collective, and the ranks, in all and on a node.

Nothing is guessed. Where two lines disagree, neither counts, and the disagreement is told.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from math import prod
from typing import TypeAlias, TypeVar

from hocket.definitions.library import find_collective, is_collective
from hocket.judging.lines import DEVICE, NumberedLines, lines_of, row_of_nccl, whole_number, with_words
from hocket.measurements.measurement import NCCL_NAMES, Facts
from hocket.measurements.nccl_tests import ranks_of_bandwidths

Row: TypeAlias = "tuple[int, re.Match[str]]"
"""A row of nccl-tests, with the number of its line."""

T = TypeVar("T", bound=Hashable)
LAUNCH_COMMAND = re.compile(r"(?:^|[\s/`$>])(?P<launcher>mpirun|mpiexec|srun|orterun)(?:\.\w+)?\s")
_TEST = re.compile(r"(?:^|[\s/])(?P<name>[a-z_]+?)_perf(?:_mpi)?\b")
_OSU = re.compile(r"\bosu_i?(?P<name>all\w+|bcast|reduce\w*|gather|scatter)\b")
_TITLE = re.compile(r"\bOSU (?:MPI|NCCL|RCCL)\S* (?P<name>[A-Za-z_-]+)(?: Personalized Exchange)? Latency Test")
_PROSE = re.compile(
    r"(?i)\b(?P<name>all[-_ ]?reduce|all[-_ ]?gather|reduce[-_ ]?scatter|all[-_ ]?to[-_ ]?allv?|broadcast)\b"
)
_TASKS_PER_NODE = re.compile(r"(?:^|\s)--ntasks-per-node[ =](?P<count>[0-9]{1,4})(?=\s|$)")
_PER_NODE = re.compile(
    r"(?:^|\s)(?:-N|--ntasks-per-node|-ppn|--ppn|-npernode|--npernode|--map-by ppr:)"
    r"[ =:]?(?P<count>[0-9]{1,4})(?=\s|:|$)"
)
_NRANKS = re.compile(r"\bn[rR]anks (?P<count>[0-9]{1,7})\b")
_NODES_AND_RANKS = (
    re.compile(
        r"(?i)\b(?P<nodes>[0-9]{1,5}|two|three|four|eight) (?:compute )?nodes? (?:run )?(?:with|x|,) "
        r"(?P<ranks>[0-9]{1,3}|two|four|eight) (?:MPI )?(?:tasks|processes|procs|ranks|gpus)\b"
    ),
    re.compile(r"(?i)\b(?P<ranks>[0-9]{1,3}) ?procs/node\+(?P<nodes>[0-9]{1,5}) ?nodes"),
)
_HOST_OPTION = re.compile(r"(?:^|\s)(?:-H|--?host|--?hostfile|--?machinefile|-f)[ =]")


def facts_in(text: str, file: str) -> tuple[Facts, tuple[str, ...]]:
    """Return the ranks, the ranks on a node and the collective that a text tells, and sentences on disagreements.

    `file` is the name of its file, for sources.
    """
    all_lines = lines_of(text)
    lines = with_words(text)
    disagreements: list[str] = []
    rows = [(number, row) for number, line in enumerate(all_lines, start=1) if (row := row_of_nccl(line)) is not None]
    collectives = list(_collectives(lines, rows, file))
    collective, _ = _only("collective", collectives, disagreements)
    ratio = list(_ranks_by_ratio(rows, file, collective))
    devices = {number: device for number, line in lines if (device := DEVICE.search(line)) is not None}
    if ratio and len({device["rank"] for device in devices.values()}) != ratio[0][0]:
        devices = {}  # the list of devices was shortened by hand
    is_whole = _is_whole_list(all_lines, devices)
    counts = [each for each in _counts(lines, devices, file, is_whole=is_whole) if each[1] > 0]
    of_ranks, of_node = ([each[1:] for each in counts if each[0] == name] for name in ("ranks", "ranks_per_node"))
    ranks, source = _only("ranks", of_ranks or ratio, disagreements)
    per_node, _ = _only("ranks on a node", of_node, disagreements)
    if ranks is not None and ratio and ratio[0][0] != ranks:
        bandwidths = f"the bandwidths of {ratio[0][1]} are of {ratio[0][0]}"
        disagreements.append(f"{source} tells of {ranks} ranks, but {bandwidths}")
        ranks = None
    if ranks is not None and per_node is not None and per_node > ranks:
        per_node = None
    return Facts(ranks=ranks, ranks_per_node=per_node, collective=collective), tuple(disagreements)


def _only(what: str, statements: Sequence[tuple[T, str]], disagreements: list[str]) -> tuple[T | None, str]:
    """Return the one value that is told, and where; None if none is, or two differ."""
    first: dict[T, str] = {}
    for one, where in statements:
        first.setdefault(one, where)
    if len(first) > 1:
        (a, source), (b, other_source) = list(first.items())[:2]
        disagreements.append(f"{what}: {source} tells {a}, but {other_source} tells {b}")
    return next(iter(first.items())) if len(first) == 1 else (None, "")


def _collectives(lines: NumberedLines, rows: Sequence[Row], file: str) -> list[tuple[str, str]]:
    """Return the collectives of command lines; without any, that of the rows or of the text.

    Only an allreduce has a bandwidth of the bus above that of its algorithm.
    """
    commands: list[tuple[str, str]] = []
    prose: list[tuple[str, str]] = []
    of_reductions = [("allreduce", f"{file}:{number}") for number, row in rows
                     if float(row["bus"]) > max(1.0, 1.02 * float(row["alg"]))]  # fmt: skip
    for number, line in lines:
        source = f"{file}:{number}"
        commands += [(match["name"], source) for expression in (_TEST, _OSU) for match in expression.finditer(line)]
        commands += [(match["name"].lower().replace("-", ""), source) for match in _TITLE.finditer(line)]
        prose += [(re.sub("[-_ ]", "", match["name"].lower()), source) for match in _PROSE.finditer(line)]
    of_names, of_words = ([(name, source) for word, source in words if (name := _collective(word)) is not None]
                     for words in (commands, prose))  # fmt: skip
    return of_names or of_reductions[:1] or (of_words if len({name for name, _ in of_words}) == 1 else [])


def _collective(word: str) -> str | None:
    name = NCCL_NAMES.get(word, {"reducescatter": "reduce_scatter", "bcast": "broadcast"}.get(word, word))
    return find_collective(name) if is_collective(name) else None


def _counts(
    lines: NumberedLines, devices: Mapping[int, re.Match[str]], file: str, *, is_whole: bool
) -> Iterator[tuple[str, int, str]]:
    """Give the numbers of ranks, and of ranks on a node, that commands, sentences and a whole list of devices tell."""
    hosts: dict[str, set[int]] = {}
    local: list[tuple[str, int, str]] = []
    for device in devices.values():
        hosts.setdefault(device["host"], set()).add(int(device["rank"]))
    for number, line in lines:
        source = f"{file}:{number}"
        count, launch = ranks_of_command(line), LAUNCH_COMMAND.search(line)
        if count is not None:
            yield "ranks", count, source
        yield from (("ranks", int(match["count"]), source) for match in _NRANKS.finditer(line))
        if launch is not None:
            test = _TEST.search(line)
            options = line[launch.end() : test.start() if test is not None else None]
            yield from (("ranks_per_node", each, source) for each in _per_node(options, launch["launcher"], count or 0))
            if count is not None and not _HOST_OPTION.search(options) and launch["launcher"] != "srun":
                local.append(("ranks_per_node", count, source))
        elif count is not None:
            yield "ranks_per_node", count, source
        for match in (match for expression in _NODES_AND_RANKS for match in expression.finditer(line)):
            nodes, per_node = whole_number(match["nodes"]), whole_number(match["ranks"])
            if nodes is not None and per_node is not None:
                yield "ranks", nodes * per_node, source
                yield "ranks_per_node", per_node, source
    if len(hosts) == 1:
        yield from local  # a launcher without hosts starts all ranks on the host that the list of devices names
    first = {int(device["rank"]): number for number, device in reversed([*devices.items()])}
    if len(first) > 1 and sorted(first) == [*range(len(first))] and is_whole:
        yield "ranks", len(first), f"{file}:{first[0]}"
    sizes = {len(ranks) for ranks in hosts.values()}
    if len(hosts) > 1 and len(sizes) == 1 and is_whole:
        yield "ranks_per_node", sizes.pop(), f"{file}:{min(devices)}"


def _is_whole_list(lines: Sequence[str], devices: Mapping[int, re.Match[str]]) -> bool:
    """Return whether the lines after a list of devices are its frame, not a cut."""
    next_line = max(devices, default=len(lines))  # counted from 0
    return next_line < len(lines) and re.match(r"\s*#|.*NCCL (?:version|INFO)", lines[next_line]) is not None


def ranks_of_command(line: str) -> int | None:
    """Return the number of ranks that a command starts; None if the line is none, or does not tell it."""
    launch = LAUNCH_COMMAND.search(line)
    options = line[launch.end() :] if launch is not None else line
    test = _TEST.search(options)
    behind = options[test.end() :] if test is not None else ""
    per_process = prod(each for name in ("-g", "-t") if (each := _option(name, behind)) is not None)
    if launch is None:
        return per_process if per_process > 1 else None
    processes = _processes(options[: test.start()] if test is not None else options)
    return None if processes is None else processes * per_process


def _option(names: str, options: str) -> int | None:
    """Return the number that an option has; `names` are an expression."""
    match = re.search(rf"(?:^|\s)(?:{names})(?:=|\s+)([0-9]{{1,7}})(?!\S)", options)
    return None if match is None else int(match[1])


def _processes(options: str) -> int | None:
    """Return the number of processes that options of a launcher ask for."""
    if (count := _option("--?np?|--ntasks", options)) is not None:
        return count
    nodes = _option("-N|--nodes", options)
    if nodes is not None and (per_node := _PER_NODE.search(options)) is not None:
        return nodes * int(per_node["count"])
    return sum(slots) if (slots := _slots(options)) else None


def _slots(options: str) -> list[int]:
    """Return the slots of the hosts in `-H host1:8,host2:8`; empty where a host has none."""
    hosts = re.search(r"(?:^|\s)(?:-H|--?host)[ =](\S+)", options)
    slots = [host.rpartition(":")[2] for host in hosts[1].split(",")] if hosts else []
    return [int(slot) for slot in slots] if slots and all(re.fullmatch("[0-9]{1,4}", slot) for slot in slots) else []


def _per_node(options: str, launcher: str, ranks: int) -> Iterator[int]:
    """Give the number of ranks on a node that options of a launcher, which starts so many ranks, ask for."""
    expression = _TASKS_PER_NODE if launcher == "srun" else _PER_NODE
    slots = {*_slots(options)}
    processes = _processes(options)
    per_process = ranks // processes if processes else 1
    nodes = _option("-N|--nodes", options) if launcher == "srun" else None
    if (per_node := expression.search(options)) is not None:
        yield int(per_node["count"]) * per_process
    elif len(slots) == 1:
        yield slots.pop() * per_process
    elif nodes and processes and processes % nodes == 0:
        yield processes // nodes * per_process


def _ranks_by_ratio(rows: Sequence[Row], file: str, collective: str | None) -> Iterator[tuple[int, str]]:
    """Give the number of ranks that the ratio of the bandwidths of nccl-tests has, if one number only fits all rows."""
    columns = [(int(row["size"]), row["time"], row["bus"]) for _, row in rows]
    least, most = ranks_of_bandwidths(collective or "", columns)
    if least == most:
        yield int(least), f"{file}:{rows[0][0]}"
