"""Lists of bandwidths that a text compares: pairs of hosts, and versions of a library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from hocket.judging.finding import Finding, conclude
from hocket.judging.lines import lines_of
from hocket.judging.mention import Mentions

_PAIR = re.compile(
    r"^\W*(?P<one>[a-z][\w-]*[0-9][\w-]*)\s*[,+&/-]\s*(?P<other>[a-z][\w-]*[0-9][\w-]*)"
    r"[\s:|]+~?(?P<value>[0-9]+\.[0-9]+)\b"
)
_VERSION = re.compile(
    r"^\W*(?:N?R?CCL )?v?(?P<version>[0-9]+(?:\.[0-9]+){1,3})(?:-[0-9]+)?"
    r"\s*[:|=]\s*~?(?P<value>[0-9]+(?:\.[0-9]+)?)\s*(?:GB/s)?\s*$"
)
_SLOW_SHARE = 0.75
_CHANGE_FACTOR = 1.5
_LEAST_ROWS = 3


def comparisons_in(mentions: Mentions) -> Iterator[Finding]:
    """Give what lists of bandwidths in a text show."""
    lines = lines_of(mentions.text)
    yield from _slow_nodes(lines, mentions.file)
    yield from _changes_of_version(lines, mentions.file)


def _slow_nodes(lines: Iterable[str], file: str) -> Iterator[Finding]:
    """Give the hosts of two or more slow pairs that no fast pair has."""
    pairs = [(match, number) for number, line in enumerate(lines, start=1) if (match := _PAIR.match(line)) is not None]
    if len(pairs) < _LEAST_ROWS:
        return
    most = max(float(match["value"]) for match, _ in pairs)
    slow = [(match, number) for match, number in pairs if float(match["value"]) < _SLOW_SHARE * most]
    fast_hosts = {
        host for match, _ in pairs if float(match["value"]) >= _SLOW_SHARE * most for host in match.groups()[:2]
    }
    hosts = [host for match, _ in slow for host in match.groups()[:2]]
    for host in dict.fromkeys(hosts):
        if hosts.count(host) > 1 and host not in fast_hosts:
            number = next(number for match, number in slow if host in match.groups())
            source = f"{file}:{number}"
            yield conclude("slow node", source=source, host=host, pairs=hosts.count(host), slow_pairs=len(slow))


def _changes_of_version(lines: Iterable[str], file: str) -> Iterator[Finding]:
    """Give the versions of a library between which the bandwidth changes."""
    rows = [
        (match, number) for number, line in enumerate(lines, start=1) if (match := _VERSION.match(line)) is not None
    ]
    if len(rows) < _LEAST_ROWS:
        return
    for (before, _), (after, number) in pairwise(rows):
        old, new = float(before["value"]), float(after["value"])
        if new > 0 and old > _CHANGE_FACTOR * new:
            yield conclude(
                "library version",
                source=f"{file}:{number}",
                before=before["version"],
                after=after["version"],
                factor=old / new,
            )
