"""Lists of bandwidths that a text compares: pairs of hosts, and versions of a library."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

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

Row: TypeAlias = "tuple[re.Match[str], str]"
"""A bandwidth, with the file and the line."""


def comparisons_in(mentions: Mentions) -> Iterator[Finding]:
    """Give what lists of bandwidths in a text show."""
    pairs, versions = (_rows(expression, mentions) for expression in (_PAIR, _VERSION))
    if len(pairs) >= _LEAST_ROWS:
        yield from _slow_nodes(pairs)
    if len(versions) >= _LEAST_ROWS:
        yield from _changes_of_version(versions)


def _rows(expression: re.Pattern[str], mentions: Mentions) -> Sequence[Row]:
    lines = enumerate(lines_of(mentions.text), start=1)
    return [(match, f"{mentions.file}:{number}") for number, line in lines if (match := expression.match(line))]


def _slow_nodes(pairs: Sequence[Row]) -> Iterator[Finding]:
    """Give the hosts of two or more slow pairs that no fast pair has."""
    least = _SLOW_SHARE * max(float(match["value"]) for match, _ in pairs)
    slow = [(match, source) for match, source in pairs if float(match["value"]) < least]
    fast_hosts = {host for match, _ in pairs if float(match["value"]) >= least for host in match.groups()[:2]}
    hosts = [host for match, _ in slow for host in match.groups()[:2]]
    for host in dict.fromkeys(hosts):
        if hosts.count(host) > 1 and host not in fast_hosts:
            source = next(source for match, source in slow if host in match.groups())
            yield conclude("slow node", source=source, host=host, pairs=hosts.count(host), slow_pairs=len(slow))


def _changes_of_version(rows: Sequence[Row]) -> Iterator[Finding]:
    """Give the versions of a library between which the bandwidth changes."""
    for (before, _), (after, source) in pairwise(rows):
        old, new = float(before["value"]), float(after["value"])
        if new > 0 and old > _CHANGE_FACTOR * new:
            one, other = before["version"], after["version"]
            yield conclude("library version", source=source, before=one, after=other, factor=old / new)
