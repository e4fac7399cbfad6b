"""What a text says of the machine and of the run: GPUs, cards, transports, settings, and the ranks of the job.

Nothing is guessed. Where two statements about the ranks disagree, neither counts, and the disagreement is told.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from hocket.base.units import format_count
from hocket.definitions.library import find_collective, is_collective
from hocket.judging.patterns import LAUNCH, PATTERNS
from hocket.measurements.margins import readable
from hocket.measurements.measurement import NCCL_NAMES, Facts

T = TypeVar("T", bound=Hashable)

_MOST_LINE_LETTERS = 4000
_MOST_RANKS = 10_000_000

_NUMBERS: Mapping[str, int] = MappingProxyType(
    {"one": 1, "single": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "sixteen": 16}
)
_NUMBER = rf"(?<![\w.])(?P<{{}}>[0-9]{{{{1,3}}}}(?![0-9])|{'|'.join(_NUMBERS)})"

_RATES: Mapping[str, int] = MappingProxyType(
    {"EDR": 100, "HDR": 200, "NDR": 400, "XDR": 800, "HDR100": 100, "NDR200": 200, "FDR": 56}
)
_CARD_WORD = re.compile(
    r"(?i)\b(?:IB|InfiniBand|RoCE\w*|NICs?|HCAs?|network|Ethernet|ConnectX|CX[-0-9]+|EFA|Slingshot|Omni-?Path|OPA|GigE)\b|\bmlx5_"
)
_RATE = re.compile(
    r"(?<![\w.~])(?P<rate>10|25|40|50|56|100|200|300|400|800)\s?(?:(?:Gb|Gbps|Gbit|Gbits)(?:/s|ps)?|G(?:igE|bE)?)(?![\w/])"
)
_GENERATION = re.compile(r"\b(?P<name>EDR|HDR100|NDR200|HDR|NDR|XDR|FDR)\b")
_CARD_COUNT = re.compile(
    _NUMBER.format("count")
    + r"\s?(?:x|\*|×|-)?\s*(?:(?:single|dual)-port\s+)?(?:(?:Mellanox|NVIDIA|ConnectX-?[0-9]|CX-?[0-9]|[0-9]+ ?(?:Gb\S*|G)|HDR|NDR|EDR|IB|InfiniBand|RoCE\w*|EFA|network|GPU-)\s*)*"
    r"(?:NICs?|HCAs?|cards?|nics?|nic|HDR|NDR|EDR|EFAs?|GPU-NIC pairs)\b", re.I
)  # fmt: skip
_USING = re.compile(r"\bNET/(?P<net>IB\w*|OFI)\s*: Using (?P<list>\[0\].*)")
_USING_CARD = re.compile(r"\[[0-9]+\](?P<name>[\w.-]+):[0-9]+/(?P<kind>IB|RoCE)")
_LAST_CARD = re.compile(r"\[([0-9]{1,3})\][\w.-]+:[0-9]+/")
_NAMED = re.compile(r"\bNCCL_IB_HCA(?:\s*=\s*|\s+set (?:by environment )?to\s+)=?(?P<list>[\w:,.-]+)")
_KINDS: Mapping[str, str] = MappingProxyType(
    {"efa": "efa", "cxi": "slingshot", "psm2": "omni-path", "opx": "omni-path"}
)
_KIND_WORDS = (
    ("slingshot", re.compile(r"(?i)\bslingshot|\bcxi\b|\bFI_CXI_")),
    ("omni-path", re.compile(r"(?i)\bomni-?path\b")),
    ("efa", re.compile(r"\bEFA\b|\bprovider is efa\b|FI_PROVIDER=\W?efa|AWS Libfabric")),
    (
        "rdma",
        re.compile(
            r"(?i)\bNET/IB\w*\s*: Using \[|\binfiniband\b|\bRoCE|\b[EHN]DR\b|\bIB (?:card|network|switch)|NET/IB\w*/[0-9]"
        ),
    ),
)

_DEVICE = re.compile(r"\bRank\s+(?P<rank>[0-9]{1,9})\s.*\bon\s+(?P<host>\S+)\s+device\s")
_BEGIN = re.compile(r"\bnThread (?P<threads>[0-9]+) nGpus (?P<gpus>[0-9]+)")
_LAUNCH = re.compile(r"(?:^|[\s/`$>])(?P<launcher>mpirun|mpiexec|srun|orterun)(?:\.\w+)?\s")
_TEST = re.compile(r"(?:^|[\s/])(?P<name>[a-z_]+?)_perf(?:_mpi)?\b")
_OSU = re.compile(r"\bosu_i?(?P<name>all\w+|bcast|reduce\w*|gather|scatter)\b")
_PROSE = re.compile(
    r"(?i)\b(?P<name>all[-_ ]?reduce|all[-_ ]?gather|reduce[-_ ]?scatter|all[-_ ]?to[-_ ]?allv?|broadcast)\b"
)
_PER_NODE = re.compile(
    r"(?:^|\s)(?:-N|--ntasks-per-node|-ppn|--ppn|-npernode|--npernode|--map-by ppr:)[ =:]?(?P<count>[0-9]{1,4})(?=\s|:|$)"
)
_NRANKS = re.compile(r"\bnranks (?P<count>[0-9]{1,7})\b")
_NODES_AND_RANKS = (
    re.compile(
        r"(?i)\b(?P<nodes>[0-9]{1,5}|two|three|four|eight) (?:compute )?nodes? (?:run )?(?:with|x|,) (?P<ranks>[0-9]{1,3}|two|four|eight) (?:MPI )?(?:tasks|processes|procs|ranks|gpus)\b"
    ),
    re.compile(r"(?i)\b(?P<ranks>[0-9]{1,3}) ?procs/node\+(?P<nodes>[0-9]{1,5}) ?nodes"),
)
_HOST_OPTION = re.compile(r"(?:^|\s)(?:-H|--?host|--?hostfile|--?machinefile|-f)[ =]")
_NODE_COUNT = re.compile(
    _NUMBER.format("count")
    + r"(?:x|\s?\*)?\s+(?:(?:compute|GPU|HGX|DGX|AWS|P5|A100|H100|different|physical)\s+)*(?:nodes?|machines|servers|hosts|VMs|instances)\b",
    re.I,
)
_LEAST_RATIO_GB_PER_S, _HALF_DIGIT = 1.0, 0.0051
"""Ratios of smaller bandwidths tell little; bandwidths have two digits after the point."""
ROW = re.compile(
    r"(?<!\S)(?P<size>[0-9]{1,15})\s+[0-9]+\s+[a-z]\w*(?:\s+[a-z]+)?(?:\s+-?[0-9]+)?(?:\[[0-9]+\])?"
    r"\s+(?P<time>[0-9]+(?:\.[0-9]+)?)\s+(?P<alg>[0-9]+\.[0-9]+)\s+(?P<bus>[0-9]+\.[0-9]+)(?=\s|$)"
)


@dataclass(frozen=True)
class Mention:
    """A thing that a line says.

    Attributes:
        kind: What it is about: see `hocket.judging.patterns.Pattern`; also "host", "nodes", "rate", "net", "launch",
            and "cards used", "cards named" and "cards told".
        value: The value.
        sentence: What it means, without a full stop.
        source: The file and the line.
        subject: What it may explain; empty for plain facts.
    """

    kind: str
    value: str
    sentence: str
    source: str
    subject: str = ""


@dataclass(frozen=True)
class Mentions:
    """What a text says of the machine and of the run.

    Attributes:
        file: The name of its file.
        mentions: What lines say, in their order.
        told: The text's own facts, and where they are told.
        text: The text.
    """

    file: str
    mentions: tuple[Mention, ...]
    told: TextFacts
    text: str = ""

    def of(self, kind: str) -> tuple[Mention, ...]:
        """Return the mentions of a kind."""
        return tuple(one for one in self.mentions if one.kind == kind)

    def about(self, subject: str) -> tuple[Mention, ...]:
        """Return the mentions that may explain something."""
        return tuple(one for one in self.mentions if one.subject == subject)

    def values(self, kind: str) -> tuple[str, ...]:
        """Return the values of the mentions of a kind, each once."""
        return tuple(dict.fromkeys(one.value for one in self.of(kind)))


@dataclass(frozen=True)
class TextFacts:
    """Facts that a text tells of its measurements.

    Attributes:
        facts: The facts. Unknown ones are None.
        sources: The file and the line of each fact, by its name in `Facts`.
        disagreements: Sentences on facts that two lines state differently, without a full stop.
    """

    facts: Facts
    sources: Mapping[str, str]
    disagreements: tuple[str, ...] = ()


def mentions_of(text: str, file: str) -> Mentions:
    """Return what a text says of the machine and of the run.

    Args:
        text: The text, such as a log or a question that quotes one.
        file: The name of its file, for sources.
    """
    lines = lines_of(text)
    found = [
        *_by_patterns(lines, file),
        *_cards(lines, file),
        *_hosts(lines, file),
        *_nodes(lines, file),
        *_separate_runs(lines, file),
    ]
    first = {(one.kind, one.value): one for one in reversed(found)}
    mentions = sorted(first.values(), key=lambda one: _line_number(one.source))
    return Mentions(file, tuple(mentions), facts_in(text, file), text)


def facts_in(text: str, file: str) -> TextFacts:
    """Return the ranks, the ranks on a node and the collective that a text tells.

    Args:
        text: The text.
        file: The name of its file, for sources.
    """
    lines = lines_of(text)
    sources: dict[str, str] = {}
    disagreements: list[str] = []
    collectives = list(_collectives(lines, file))
    collective = _only("collective", collectives, sources, disagreements)
    ratio = list(_ranks_by_ratio(lines, file, collective))
    ranks = _only("ranks", list(_ranks(lines, file)) or ratio, sources, disagreements)
    per_node = _only("ranks_per_node", list(_ranks_per_node(lines, file)), sources, disagreements)
    if ranks is not None and ratio and ratio[0][0] != ranks:
        disagreements.append(
            f"{sources['ranks']} tells of {ranks} ranks, but the bandwidths of {ratio[0][1]} are of {ratio[0][0]}"
        )
        ranks = None
    if ranks is not None and per_node is not None and per_node > ranks:
        per_node = None
    facts = Facts(ranks=ranks, ranks_per_node=per_node, collective=collective)
    return TextFacts(facts, MappingProxyType(sources), tuple(disagreements))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without escapes; a command that goes on over several lines is the first of them."""
    lines = [line[:_MOST_LINE_LETTERS] for line in readable(text).split("\n")]
    for number in range(len(lines) - 2, -1, -1):
        if lines[number].rstrip().endswith("\\"):
            lines[number] = f"{lines[number].rstrip()[:-1]} {lines[number + 1]}"[:_MOST_LINE_LETTERS]
            lines[number + 1] = ""
    return lines


def _line_number(source: str) -> int:
    return int(source.rpartition(":")[2])


def _by_patterns(lines: Iterable[str], file: str) -> Iterator[Mention]:
    for number, line in enumerate(lines, start=1):
        for pattern in PATTERNS:
            if (match := pattern.expression.search(line)) is not None:
                words = {name: (word or "").strip() for name, word in match.groupdict().items()}
                value, sentence = (re.sub(r"(?<=[0-9])(?=SXM|PCI)", " ", text.format(**words))
                                   for text in (pattern.value, pattern.sentence))  # fmt: skip
                yield Mention(pattern.kind, value, sentence, f"{file}:{number}", pattern.subject)


def _cards(lines: Iterable[str], file: str) -> Iterator[Mention]:
    """Give the cards of a node: how many, of what kind, and how fast."""
    for number, line in enumerate(lines, start=1):
        source = f"{file}:{number}"
        if (using := _USING.search(line)) is not None and (cards := _USING_CARD.findall(using["list"])):
            names = list(dict.fromkeys(name for name, _ in cards))
            if "…" in line or "..." in line:
                count = (
                    int(_LAST_CARD.findall(using["list"])[-1]) + 1
                )  # the list is shortened, but its last number is not
                yield Mention("cards used", str(count), f"NCCL uses {_cards_word(count)}", source)
            else:
                yield Mention(
                    "cards used", str(len(names)), f"NCCL uses {_cards_word(len(names))}: {', '.join(names)}", source
                )
            yield Mention("net", "rdma", f"the cards speak {cards[0][1]}", source)
        if (named := _NAMED.search(line)) is not None and not line[named.end() :].startswith(("…", "...")):
            names = list(dict.fromkeys(named["list"].strip(",").split(",")))
        else:
            names = []
        if names and all(re.search("[0-9]", name) for name in names):
            yield Mention("cards named", str(len(names)), f"NCCL_IB_HCA names {_cards_word(len(names))}", source)
        for kind, word in _KIND_WORDS:
            if word.search(line):
                yield Mention("net", kind, f"the network is {_net_name(kind)}", source)
        if _CARD_WORD.search(line) or _GENERATION.search(line):
            yield from _rates(line, source)


def _cards_word(count: int) -> str:
    return "one card" if count == 1 else f"{count} cards"


def _net_name(kind: str) -> str:
    return {"rdma": "InfiniBand or RoCE", "efa": "EFA", "slingshot": "Slingshot", "omni-path": "Omni-Path"}[kind]


def _rates(line: str, source: str) -> Iterator[Mention]:
    for rate in _RATE.finditer(line):
        yield Mention("rate", rate["rate"], f"a card has {rate['rate']} Gbit/s", source)
    for generation in _GENERATION.finditer(line):
        rate_gbit = _RATES[generation["name"]]
        yield Mention("rate", str(rate_gbit), f"{generation['name']} has {rate_gbit} Gbit/s", source)
    if (count := _CARD_COUNT.search(line)) is not None:
        cards = _whole(count["count"])
        if cards is not None and cards <= 32:
            yield Mention("cards told", str(cards), f"the text tells of {_cards_word(cards)}", source)


def _whole(text: str) -> int | None:
    value = _NUMBERS.get(text.lower()) if not text.isdecimal() else int(text)
    return value if value is not None and 0 < value <= _MOST_RANKS else None


def _hosts(lines: Iterable[str], file: str) -> Iterator[Mention]:
    for number, line in enumerate(lines, start=1):
        if (device := _DEVICE.search(line)) is not None:
            yield Mention("host", device["host"], f"ranks run on {device['host']}", f"{file}:{number}")


def _nodes(lines: Iterable[str], file: str) -> Iterator[Mention]:
    for number, line in enumerate(lines, start=1):
        if _LAUNCH.search(line) is None and any(_ranks_of_command(line)):
            yield Mention("nodes", "1", "a single process runs all ranks", f"{file}:{number}")
        for match in _NODE_COUNT.finditer(line):
            if (count := _whole(match["count"])) is not None:
                yield Mention(
                    "nodes", str(count), f"the text tells of {format_count(count, 'node')}", f"{file}:{number}"
                )


def _separate_runs(lines: Iterable[str], file: str) -> Iterator[Mention]:
    """Give a mention where a list of devices has rank 0 twice: single jobs that print into each other."""
    zeros: dict[str, int] = {}
    sizes: list[tuple[str, str]] = []
    begins = 0
    for number, line in enumerate(lines, start=1):
        begins += _BEGIN.search(line) is not None
        if (device := _DEVICE.search(line)) is not None and int(device["rank"]) == 0:
            if zeros and device["host"] not in zeros and min(zeros.values()) >= number - 20 and begins > 1:
                yield _separate(
                    f"{file}:{number}", f"the hosts {next(iter(zeros))} and {device['host']} both have a rank 0"
                )
            zeros[device["host"]] = number
        if (row := ROW.search(line)) is not None:
            size = (line[: row.start()].strip(), row["size"])
            if sizes[-1:] == [size] and row["size"] != "0":
                yield _separate(f"{file}:{number}", f"the size {row['size']} has two rows in a run")
            sizes.append(size)
        elif "algbw" in line:
            sizes = []


def _separate(source: str, sentence: str) -> Mention:
    return Mention("launch", "separate runs", f"{sentence}: single jobs print into each other", source, LAUNCH)


def _only(name: str, told: Sequence[tuple[T, str]], sources: dict[str, str], disagreements: list[str]) -> T | None:
    """Return the one value that is told; None if none is, or two differ."""
    first = {value: source for value, source in reversed(told)}
    if len(first) > 1:
        (one, source), (other, other_source) = list(first.items())[:2]
        what = "ranks on a node" if name == "ranks_per_node" else name
        disagreements.append(f"{what}: {source} tells {one}, but {other_source} tells {other}")
    if len(first) != 1:
        return None
    value, sources[name] = next(iter(first.items()))
    return value


def _collectives(lines: Iterable[str], file: str) -> list[tuple[str, str]]:
    """Return the collectives of command lines; without any, that of the rows or of the text.

    Only an allreduce has a bandwidth of the bus above that of its algorithm.
    """
    commands: list[tuple[str, str]] = []
    prose: list[tuple[str, str]] = []
    of_reductions: list[tuple[str, str]] = []
    for number, line in enumerate(lines, start=1):
        source = f"{file}:{number}"
        commands += [(match["name"], source) for expression in (_TEST, _OSU) for match in expression.finditer(line)]
        prose += [(re.sub("[-_ ]", "", match["name"].lower()), source) for match in _PROSE.finditer(line)]
        if (row := ROW.search(line)) is not None and _is_above_one(row):
            of_reductions.append(("allreduce", source))
    named, spoken = ([(name, source) for word, source in words if (name := _collective(word)) is not None]
                     for words in (commands, prose))  # fmt: skip
    return named or of_reductions[:1] or (spoken if len({name for name, _ in spoken}) == 1 else [])


def _collective(word: str) -> str | None:
    name = NCCL_NAMES.get(word, {"reducescatter": "reduce_scatter", "bcast": "broadcast"}.get(word, word))
    return find_collective(name) if is_collective(name) else None


def _ranks(lines: Sequence[str], file: str) -> Iterator[tuple[int, str]]:
    """Give the numbers of ranks that commands, lists of devices and libraries tell."""
    devices: dict[int, str] = {}
    for number, line in enumerate(lines, start=1):
        source = f"{file}:{number}"
        if (device := _DEVICE.search(line)) is not None:
            devices.setdefault(int(device["rank"]), source)
        yield from ((count, source) for count in _ranks_of_command(line))
        yield from ((count, source) for match in _NRANKS.finditer(line) if (count := _whole(match["count"])))
        yield from ((nodes * per_node, source) for nodes, per_node in _nodes_and_ranks(line))
    if len(devices) > 1 and sorted(devices) == [*range(len(devices))] and _is_whole_list(lines):
        yield len(devices), devices[0]


def _is_whole_list(lines: Sequence[str]) -> bool:
    """Return whether the lines after a list of devices are its frame, not a cut."""
    last = max(number for number, line in enumerate(lines) if _DEVICE.search(line))
    return last + 1 < len(lines) and re.match(r"\s*#|.*NCCL (?:version|INFO)", lines[last + 1]) is not None


def _ranks_of_command(line: str) -> Iterator[int]:
    launch = _LAUNCH.search(line)
    options = line[launch.end() :] if launch is not None else line
    test = _TEST.search(options)
    per_process = 1
    if test is not None:
        for option in ("-g", "-t"):
            count = re.search(rf"\s{option}\s+([0-9]{{1,3}})(?!\S)", options[test.end() :])
            per_process *= int(count[1]) if count else 1
    if launch is None:
        if test is not None and per_process > 1:
            yield per_process
        return
    processes = _processes(options[: test.start()] if test is not None else options)
    if processes is not None:
        yield processes * per_process


def _processes(options: str) -> int | None:
    """Return the number of processes that options of a launcher ask for."""
    if (count := re.search(r"(?:^|\s)(?:--?np?|--ntasks)[ =]([0-9]{1,7})(?!\S)", options)) is not None:
        return int(count[1])
    nodes = re.search(r"(?:^|\s)(?:-N|--nodes)[ =]([0-9]{1,6})(?!\S)", options)
    if nodes is not None and (per_node := _PER_NODE.search(options)) is not None:
        return int(nodes[1]) * int(per_node["count"])
    return sum(slots) if (slots := _slots(options)) else None


def _slots(options: str) -> list[int]:
    """Return the slots of the hosts in `-H host1:8,host2:8`; empty where a host has none."""
    hosts = re.search(r"(?:^|\s)(?:-H|--?host)[ =](\S+)", options)
    slots = [host.rpartition(":")[2] for host in hosts[1].split(",")] if hosts else []
    return [int(slot) for slot in slots] if slots and all(re.fullmatch("[0-9]{1,4}", slot) for slot in slots) else []


def _nodes_and_ranks(line: str) -> Iterator[tuple[int, int]]:
    """Give numbers of nodes, and of ranks on a node, that a sentence tells together."""
    for expression in _NODES_AND_RANKS:
        for match in expression.finditer(line):
            nodes, per_node = _whole(match["nodes"]), _whole(match["ranks"])
            if nodes is not None and per_node is not None:
                yield nodes, per_node


def _ranks_per_node(lines: Sequence[str], file: str) -> Iterator[tuple[int, str]]:
    """Give the numbers of ranks on a node that commands, lists of devices and sentences tell."""
    hosts: dict[str, set[int]] = {}
    local: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        source = f"{file}:{number}"
        if (device := _DEVICE.search(line)) is not None:
            hosts.setdefault(device["host"], set()).add(int(device["rank"]))
        launch = _LAUNCH.search(line)
        if launch is not None:
            test = _TEST.search(line)
            options = line[launch.end() : test.start() if test is not None else None]
            per_node = _PER_NODE.search(options)
            slots = set(_slots(options))
            if per_node is not None:
                yield int(per_node["count"]), source
            elif len(slots) == 1:
                yield slots.pop(), source
            elif not _HOST_OPTION.search(options) and launch["launcher"] != "srun":
                local += [(count, source) for count in _ranks_of_command(line)]
        elif len(counts := list(_ranks_of_command(line))) == 1:
            yield counts[0], source
        yield from ((ranks, source) for _, ranks in _nodes_and_ranks(line))
    if len(hosts) == 1:
        yield from local  # a launcher without hosts starts all ranks on the host that the list of devices names
    counts_on_hosts = Counter(len(ranks) for ranks in hosts.values())
    if len(hosts) > 1 and len(counts_on_hosts) == 1 and _is_whole_list(lines):
        number = next(number for number, line in enumerate(lines, start=1) if _DEVICE.search(line))
        yield next(iter(counts_on_hosts)), f"{file}:{number}"


def _ranks_by_ratio(lines: Iterable[str], file: str, collective: str | None) -> Iterator[tuple[int, str]]:
    """Give the number of ranks that the ratio of the bandwidths of nccl-tests has, if one number only fits all rows."""
    share = {"allreduce": 2, "allgather": 1, "reduce_scatter": 1, "alltoall": 1}.get(collective or "")
    lowest, highest, source = 0.0, float("inf"), ""
    for number, line in enumerate(lines, start=1):
        row = ROW.search(line)
        if row is None or share is None or not _is_row_of_nccl(row):
            continue
        bus = float(row["bus"])
        if bus < _LEAST_RATIO_GB_PER_S:
            continue
        time_us, digits = float(row["time"]), len(row["time"].partition(".")[2])
        half_us = 0.51 / 10**digits
        lowest = max(lowest, (bus - _HALF_DIGIT) * (time_us - half_us) * 1e3 / int(row["size"]))
        highest = min(highest, (bus + _HALF_DIGIT) * (time_us + half_us) * 1e3 / int(row["size"]))
        source = source or f"{file}:{number}"
    if share is not None and source and lowest < share:
        least = max(2, math.ceil(share / (share - lowest) - 1e-9))
        most = math.floor(share / (share - highest) + 1e-9) if highest < share else math.inf
        if least == most:
            yield least, source


def _is_above_one(row: re.Match[str]) -> bool:
    return _is_row_of_nccl(row) and float(row["bus"]) > max(1.0, 1.02 * float(row["alg"]))


def _is_row_of_nccl(row: re.Match[str]) -> bool:
    """Return whether the bandwidth of a row follows from its size and its time."""
    time_us = float(row["time"])
    return time_us > 0 and abs(int(row["size"]) / time_us / 1e3 - float(row["alg"])) < 0.006 + 0.01 * float(row["alg"])
