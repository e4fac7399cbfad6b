"""What a text says of the machine and of the run: GPUs, cards, transports, settings, and the ranks of the job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hocket.base.units import format_count
from hocket.judging.cards import cards_in
from hocket.judging.facts import LAUNCH_COMMAND, facts_in, ranks_of_command
from hocket.judging.lines import DEVICE, NUMBER, ROW, NumberedLines, lines_of, whole_number, with_words
from hocket.judging.mention import Mention, Mentions
from hocket.judging.patterns import LAUNCH, PATTERNS
from hocket.judging.products import products_in
from hocket.judging.topology_tables import topologies_in

_BEGIN = re.compile(r"\bnThread (?P<threads>[0-9]+) nGpus (?P<gpus>[0-9]+)")
_NODE_COUNT = re.compile(
    NUMBER.format("count") + r"(?:x|\s?\*)?\s+(?:(?:compute|GPU|HGX|DGX|AWS|P5|A100|H100|different|physical)\s+)*"
    r"(?:nodes?|machines|servers|hosts|VMs|instances)\b",
    re.I,
)
_NODES_OF_JOB = re.compile(r"(?:\bnNodes |#SBATCH (?:--nodes=|-N ?)|--nnodes[ =])(?P<count>[0-9]{1,5})\b")


def mentions_of(text: str, file: str) -> Mentions:
    """Return what a text says of the machine and of the run.

    Args:
        text: The text, such as a log or a question that quotes one.
        file: The name of its file, for sources.
    """
    lines = lines_of(text)
    lines_with_words = with_words(text)
    all_mentions = [
        *_by_patterns(lines_with_words, file),
        *cards_in(lines_with_words, file),
        *products_in(lines_with_words, file),
        *topologies_in(lines, file),
        *_hosts(lines_with_words, file),
        *_nodes(lines_with_words, file),
        *_separate_runs(lines, file),
    ]
    first = {(one.kind, one.value): one for one in reversed(all_mentions)}
    mentions = sorted(first.values(), key=lambda one: _line_number(one.source))
    return Mentions(file, tuple(mentions), facts_in(text, file), text)


def _line_number(source: str) -> int:
    return int(source.rpartition(":")[2])


def _by_patterns(lines: NumberedLines, file: str) -> Iterator[Mention]:
    for number, line in lines:
        for pattern in PATTERNS:
            if (match := pattern.expression.search(line)) is not None:
                words = {name: (word or "").strip() for name, word in match.groupdict().items()}
                value, sentence = (re.sub(r"(?<=[0-9])(?=SXM|PCI)", " ", text.format(**words))
                                   for text in (pattern.value, pattern.sentence))  # fmt: skip
                yield Mention(pattern.kind, value, sentence, f"{file}:{number}", pattern.subject)


def _hosts(lines: NumberedLines, file: str) -> Iterator[Mention]:
    for number, line in lines:
        if (device := DEVICE.search(line)) is not None:
            yield Mention("host", device["host"], f"ranks run on {device['host']}", f"{file}:{number}")


def _nodes(lines: NumberedLines, file: str) -> Iterator[Mention]:
    for number, line in lines:
        if LAUNCH_COMMAND.search(line) is None and any(ranks_of_command(line)):
            yield Mention("nodes", "1", "a single process runs all ranks", f"{file}:{number}")
        for match in (*_NODE_COUNT.finditer(line), *_NODES_OF_JOB.finditer(line)):
            if (count := whole_number(match["count"])) is not None:
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
        if (device := DEVICE.search(line)) is not None and int(device["rank"]) == 0:
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
