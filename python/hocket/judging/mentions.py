"""What a text says of the machine and of the run: GPUs, cards, transports, settings, and the ranks of the job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from math import inf
from typing import NamedTuple

from hocket.base.files import read_rows
from hocket.definitions.mpi_products import product_in
from hocket.judging.facts import command_in, facts_in
from hocket.judging.lines import DEVICE, FORMS, ROW, expression_of, lines_of, whole_number, with_words
from hocket.judging.mention import Figure, Mention, Mentions

_ONLY_OF_CARDS, _SEVERAL_IN_LINE = ("rate", "cards told"), ("rate", "nodes")
"""Kinds of which only lines on cards tell, and of which a line may tell several values."""

_MOST = {"cards told": 32}
_BITS = ("Gbps", "Gb/s", "Gbit/s")
_MOST_REACH = 80
_BELOW = 0.9  # a bus that carries less than this share of a card limits it


class Pattern(NamedTuple):
    """What to search in a line: a row of `patterns.csv`, whose attributes are explained there."""

    kind: str
    value: str
    sentence: str
    subject: str
    expression: re.Pattern[str]


PATTERNS = tuple(
    Pattern(row["kind"], row["value"], row["sentence"], row["subject"], expression_of(row["expression"]))
    for row in read_rows(__file__, "patterns.csv")
)
"""The patterns. Of a kind and a value, the first line counts."""


def mentions_of(text: str, file: str) -> Mentions:
    """Return what a text says of the machine and of the run; `file` is the name of its file, for sources."""
    lines = lines_of(text)
    in_lines = [one for number, line in with_words(text) for one in _in_line(line, f"{file}:{number}")]
    of_text = [*_topologies(lines, file), *_slow_buses(lines, file), *_separate_runs(lines, file)]
    all_mentions = [*in_lines, *_of_product(in_lines), *of_text]
    first = {(one.kind, one.value): one for one in reversed(all_mentions)}
    mentions = sorted(first.values(), key=lambda one: int(one.source.rpartition(":")[2]))
    return Mentions(file, tuple(mentions), *facts_in(text, file), text, figures_in(text, file))


def _in_line(line: str, source: str) -> Iterator[Mention]:
    is_of_cards = FORMS["of cards"].search(line) is not None
    for pattern in PATTERNS:
        if is_of_cards or pattern.kind not in _ONLY_OF_CARDS:
            matches = pattern.expression.finditer(line)
            for match in matches if pattern.kind in _SEVERAL_IN_LINE else islice(matches, 1):
                yield from _by_pattern(pattern, match, source)
    yield from _cards(line, source)
    if (mpi := product_in(line)) is not None:
        yield Mention("library", f"{mpi[0].title} {mpi[1]}", source)
    if (command := command_in(line)).ranks and not command.launcher:
        yield Mention("nodes", "1", source)  # a single process runs all ranks


def _by_pattern(pattern: Pattern, match: re.Match[str], source: str) -> Iterator[Mention]:
    words = {name: (word or "").strip() for name, word in match.groupdict().items()}
    if "count" in words:
        count = whole_number(words["count"])
        if count is None or count > _MOST.get(pattern.kind, count):
            return
        words["count"] = str(count)
    value = re.sub(r"(?<=[0-9])(?=SXM|PCI)", " ", pattern.value.format(**words))
    yield Mention(pattern.kind, value, source, pattern.sentence.format(value=value, **words), pattern.subject)


def _cards(line: str, source: str) -> Iterator[Mention]:
    """Give the number of cards that NCCL uses, and that a setting names."""
    if (using := FORMS["cards used"].search(line)) is not None and (cards := FORMS["card used"].findall(using["list"])):
        is_cut = "…" in line or "..." in line  # the list is shortened, but its last number is not
        count = int(FORMS["card of list"].findall(using["list"])[-1]) + 1 if is_cut else len({*cards})
        sentence = f"NCCL uses one card{'' if is_cut else f': {cards[0]}'}" if count == 1 else ""
        yield Mention("cards used", str(count), source, sentence)
        yield Mention("net", "rdma", source)
    if (match := FORMS["cards named"].search(line)) is not None and not line[match.end() :].startswith(("…", "...")):
        names = {*match["list"].strip(",").split(",")}
        if all(re.search("[0-9]", name) for name in names):
            sentence = "NCCL_IB_HCA names one card" if len(names) == 1 else ""
            yield Mention("cards named", str(len(names)), source, sentence)


def _of_product(mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Give the GPUs and the cards of the product that a text names, if it names no other one."""
    products = {one.value: one for one in reversed(mentions) if one.kind == "product"}
    if len(products) == 1:
        ((value, one),) = products.items()
        _, *values = value.split("; ")
        for kind, part in zip(("gpu", "net", "cards told", "rate"), values, strict=True):
            yield Mention(kind, part, one.source, one.sentence)


def _topologies(lines: Sequence[str], file: str) -> Iterator[Mention]:
    """Give how GPUs reach each other, and whether a card is near one, by tables of `nvidia-smi topo -m`."""
    for number, line in (each for each in enumerate(lines, start=1) if "GPU1" in each[1]):
        names = list(takewhile(FORMS["device of topology"].fullmatch, line.split()))
        following = [each.split()[: len(names) + 1] for each in lines[number : number + len(names)]]
        rows = [
            cells
            for first, *cells in filter(None, following)
            if first.startswith("GPU") and len(cells) == len(names) and all(map(FORMS["link"].fullmatch, cells))
        ]
        if names[:2] != ["GPU0", "GPU1"] or len(rows) < 2:
            continue
        source, links = f"{file}:{number}", [pair for cells in rows for pair in zip(names, cells, strict=True)]
        has_links = {link.startswith("NV") for name, link in links if name.startswith("GPU") and link != "X"}
        to_cards = {link for name, link in links if not name.startswith("GPU")}
        if has_links == {True, False}:
            sentence = "NVLink joins some pairs of GPUs only, other pairs go through PCIe or the CPU"
            yield Mention("links", "pairs", source, sentence)
        elif has_links:
            yield Mention("links", "NVLink" if has_links == {True} else "no NVLink", source)
        if to_cards and not to_cards & {"PIX", "PXB"}:
            sentence = "no card is behind the PCIe switch of a GPU, so their data pass through the CPU"
            yield Mention("near cards", "none", source, sentence)


def _slow_buses(lines: Sequence[str], file: str) -> Iterator[Mention]:
    """Give the buses that carry less than the network card at their end, by the tree of devices in a log of NCCL."""
    above = list[tuple[int, float, int]]()
    for number, line in enumerate(lines, start=1):
        if (match := FORMS["node of tree"].search(line)) is None:
            continue
        rate = float(match["rate"])
        if match["kind"] == "NET":
            buses = [each for each in above if each[0] < match.start()] or above[-1:]
            _, slowest, place = min(buses, key=lambda each: each[1], default=(0, rate, 0))
            if slowest < _BELOW * rate:
                words = f"the bus to a network card carries {slowest:g} GB/s (PCI[{slowest:.1f}])"
                rest = f"the card {rate:g} GB/s (NET[{rate:.1f}]): {slowest / rate:.0%} of the card is left"
                sentence = f"{words}, {rest}"
                yield Mention("bus", f"{slowest:g}", f"{file}:{place}", sentence, "bus of a card")
        else:
            above = [each for each in above if each[0] < match.start()]
            above.append((match.start(), rate, number))


def _separate_runs(lines: Iterable[str], file: str) -> Iterator[Mention]:
    """Give a mention where a list of devices has rank 0 twice: single jobs that print into each other."""
    zeros: dict[str, int] = {}
    last_size: tuple[str, str] | None = None
    begins = 0
    for number, line in enumerate(lines, start=1):
        begins += FORMS["options of nccl-tests"].search(line) is not None
        sentence = ""
        if (device := DEVICE.search(line)) is not None and int(device["rank"]) == 0:
            if zeros and device["host"] not in zeros and min(zeros.values()) >= number - 20 and begins > 1:
                sentence = f"the hosts {next(iter(zeros))} and {device['host']} both have a rank 0"
            zeros[device["host"]] = number
        if (row := ROW.search(line)) is not None:
            size = (line[: row.start()].strip(), row["size"])
            if size == last_size and row["size"] != "0":
                sentence = f"the size {row['size']} has two rows in a run"
            last_size = size
        elif "algbw" in line:
            last_size = None
        if sentence:
            words = f"{sentence}: single jobs print into each other"
            yield Mention("launch", "separate runs", f"{file}:{number}", words, "separate runs")


def figures_in(text: str, file: str) -> tuple[Figure, ...]:
    """Return the measured bandwidths that a text quotes, in their order; those that are expected are left out."""
    figures: list[Figure] = []
    for number, line in with_words(text):
        source = f"{file}:{number}"
        if (average := FORMS["average of nccl-tests"].search(line)) is not None:
            figures.append(Figure(float(average["value"]) * 1e9, True, source, is_average=True, is_of_output=True))
        elif FORMS["about bandwidth"].search(line):
            matches = list(FORMS["bandwidth"].finditer(line)) or list(FORMS["bandwidth of bus"].finditer(line))
            figures += _measured(line, matches, source)
    return tuple(one for one in figures if 0 < one.bytes_per_s < inf)


def _measured(line: str, matches: list[re.Match[str]], source: str) -> Iterator[Figure]:
    """Give the measured figures of a line. What stands behind another one, as in "21 Gbps (2.5 GBps)", repeats it."""
    end = 0
    for match in matches:
        # what stands before it, back to another figure or the end of a sentence
        before = FORMS["break"].split(line[max(0, match.start() - _MOST_REACH) : match.start()])[-1]
        is_repeated = bool(end) and re.fullmatch(r"[\s(`~=*x0-9,]*", line[end : match.start()]) is not None
        if not is_repeated and not FORMS["not measured"].search(before):
            is_average = FORMS["mean"].search(before) is not None
            bytes_per_s = float(match["value"]) * (1e9 / 8 if match.groupdict().get("unit", "") in _BITS else 1e9)
            yield Figure(bytes_per_s, not FORMS["of algorithm"].search(before), source, is_average)
        end = match.end()
