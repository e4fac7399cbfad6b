"""The facts that a text tells of its measurements: the collective, and the ranks, in all and on a node.

Nothing is guessed. Where two lines disagree, neither counts, and the disagreement is told.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple, TypeVar

from hocket.definitions.library import find_collective, is_collective
from hocket.judging.lines import DEVICE, FORMS, NumberedLines, lines_of, row_of_nccl, whole_number, with_words
from hocket.measurements.measurement import Facts
from hocket.measurements.nccl_tests import ranks_of_bandwidths

T = TypeVar("T", bound=Hashable)


class Command(NamedTuple):
    """What a line of a shell starts: its launcher, which may be empty, and ranks, as far as that is told."""

    launcher: str
    ranks: int | None
    ranks_per_node: int | None
    has_hosts: bool  # options name them, or the launcher knows them by itself


def facts_in(text: str, file: str) -> tuple[Facts, tuple[str, ...]]:
    """Return ranks, ranks on a node and collective that the text of a file tells, and sentences on disagreements."""
    all_lines, lines = lines_of(text), with_words(text)
    disagreements: list[str] = []
    rows = [(number, row) for number, line in enumerate(all_lines, start=1) if (row := row_of_nccl(line)) is not None]
    collective, _ = _only("collective", _collectives(lines, rows, file), disagreements)
    columns = [(int(row["size"]), row["time"], row["bus"]) for _, row in rows]
    least, most = ranks_of_bandwidths(collective or "", columns)
    by_ratio = [(int(least), f"{file}:{rows[0][0]}")] if least == most else []
    devices = {number: device for number, line in lines if (device := DEVICE.search(line)) is not None}
    if by_ratio and len({device["rank"] for device in devices.values()}) != by_ratio[0][0]:
        devices = {}  # the list of devices was shortened by hand
    line = all_lines[max(devices)] if devices and max(devices) < len(all_lines) else ""
    is_whole = re.match(r"\s*#|.*NCCL (?:version|INFO)", line) is not None  # the frame of the list follows, no cut
    counts = [each for each in _counts(lines, devices, file, is_whole=is_whole) if each[1] > 0]
    of_ranks, of_node = ([each[1:] for each in counts if each[0] == name] for name in ("ranks", "ranks_per_node"))
    ranks, source = _only("ranks", of_ranks or by_ratio, disagreements)
    per_node, _ = _only("ranks on a node", of_node, disagreements)
    if ranks is not None and by_ratio and by_ratio[0][0] != ranks:
        count, other = by_ratio[0]
        disagreements.append(f"{source} tells of {ranks} ranks, but the bandwidths of {other} are of {count}")
        ranks = None
    if ranks is not None and per_node is not None and per_node > ranks:
        per_node = None
    return Facts(ranks=ranks, ranks_per_node=per_node, collective=collective), tuple(disagreements)


def _only(what: str, statements: Iterable[tuple[T, str]], disagreements: list[str]) -> tuple[T | None, str]:
    """Return the one value that is told, and where; None if none is, or two differ."""
    first: dict[T, str] = {}
    for one, where in statements:
        first.setdefault(one, where)
    if len(first) > 1:
        (a, source), (b, other_source) = list(first.items())[:2]
        disagreements.append(f"{what}: {source} tells {a}, but {other_source} tells {b}")
    return next(iter(first.items())) if len(first) == 1 else (None, "")


def _collectives(lines: NumberedLines, rows: Sequence[tuple[int, re.Match[str]]], file: str) -> list[tuple[str, str]]:
    """Return the collectives of command lines; without any, that of rows of nccl-tests or of the text.

    Only an allreduce has a bandwidth of the bus above that of its algorithm.
    """
    of_names, of_prose = (
        [
            (name, f"{file}:{number}")
            for number, line in lines
            for form in forms
            for match in FORMS[form].finditer(line)
            if (name := _collective(match["name"])) is not None
        ]
        for forms in (("test of NCCL", "test of OSU", "title of OSU"), ("collective",))
    )
    of_reductions = [number for number, row in rows if float(row["bus"]) > max(1.0, 1.02 * float(row["alg"]))]
    if of_names or of_reductions:
        return of_names or [("allreduce", f"{file}:{of_reductions[0]}")]
    return of_prose if len({name for name, _ in of_prose}) == 1 else []


def _collective(word: str) -> str | None:
    bare = re.sub("[-_ ]", "", word.lower()).replace("reducescatter", "reduce_scatter")
    return next((find_collective(name) for name in (word.lower(), bare) if is_collective(name)), None)


def _counts(
    lines: NumberedLines, devices: Mapping[int, re.Match[str]], file: str, *, is_whole: bool
) -> Iterator[tuple[str, int, str]]:
    """Give the numbers of ranks, and of ranks on a node, that commands, sentences and a whole list of devices tell."""
    hosts: dict[str, set[int]] = {}
    for device in devices.values():
        hosts.setdefault(device["host"], set()).add(int(device["rank"]))
    for number, line in lines:
        source, command = f"{file}:{number}", command_in(line)
        if command.ranks is not None:
            yield "ranks", command.ranks, source
        yield from (("ranks", int(match["count"]), source) for match in FORMS["ranks in a log"].finditer(line))
        if command.ranks_per_node is not None:
            yield "ranks_per_node", command.ranks_per_node, source
        if command.ranks is not None and not command.has_hosts and len(hosts) == 1:
            yield "ranks_per_node", command.ranks, source  # all are on the host that the list of devices names
        for match in (*FORMS["ranks of nodes"].finditer(line), *FORMS["ranks of nodes in short"].finditer(line)):
            nodes, per_node = whole_number(match["nodes"]), whole_number(match["ranks"])
            if nodes is not None and per_node is not None:
                yield "ranks", nodes * per_node, source
                yield "ranks_per_node", per_node, source
    first = {int(device["rank"]): number for number, device in reversed([*devices.items()])}
    if is_whole and len(first) > 1 and sorted(first) == [*range(len(first))]:
        yield "ranks", len(first), f"{file}:{first[0]}"
    sizes = {len(ranks) for ranks in hosts.values()}
    if is_whole and len(hosts) > 1 and len(sizes) == 1:
        yield "ranks_per_node", sizes.pop(), f"{file}:{min(devices)}"


def command_in(line: str) -> Command:
    """Return what a line starts, a launcher or a benchmark by itself."""
    launch = FORMS["launcher"].search(line)
    options = line[launch.end() :] if launch is not None else line
    test = FORMS["test of NCCL"].search(options)
    behind = options[test.end() :] if test is not None else ""
    per_process = prod(each for name in ("-g", "-t") if (each := _option(name, behind)) is not None)
    if launch is None:
        ranks = per_process if per_process > 1 else None
        return Command("", ranks, ranks, has_hosts=True)
    options = options[: test.start()] if test is not None else options
    is_slurm = launch["launcher"] == "srun"
    per_node = (FORMS["tasks of Slurm"] if is_slurm else FORMS["ranks on a node"]).search(options)
    nodes, slots = _option("-N|--nodes", options), _slots(options)
    processes = _option("--?np?|--ntasks", options)
    if processes is None and nodes is not None and per_node is not None:
        processes = nodes * int(per_node["count"])
    if processes is None and slots:
        processes = sum(slots)
    on_node = slots[0] if len({*slots}) == 1 else None
    if is_slurm and on_node is None and nodes and processes and processes % nodes == 0:
        on_node = processes // nodes
    if per_node is not None:
        on_node = int(per_node["count"])
    return Command(
        launch["launcher"],
        processes and processes * per_process,
        on_node and on_node * (per_process if processes else 1),
        has_hosts=is_slurm or FORMS["hosts"].search(options) is not None,
    )


def _option(names: str, options: str) -> int | None:
    """Return the number that an option has; `names` are an expression."""
    match = re.search(rf"(?:^|\s)(?:{names})(?:=|\s+)([0-9]{{1,7}})(?!\S)", options)
    return None if match is None else int(match[1])


def _slots(options: str) -> list[int]:
    """Return the slots of the hosts in `-H host1:8,host2:8`; empty where a host has none."""
    hosts = re.search(r"(?:^|\s)(?:-H|--?host)[ =](\S+)", options)
    slots = [host.rpartition(":")[2] for host in hosts[1].split(",")] if hosts else []
    return [int(slot) for slot in slots] if all(re.fullmatch("[0-9]{1,4}", slot) for slot in slots) else []
