"""What a text says, as records: facts, bandwidths that it quotes, and tables."""

from __future__ import annotations

from dataclasses import dataclass

from hocket.measurements.measurement import Facts


@dataclass(frozen=True)
class Mention:
    """A thing that a line says, and what it may explain; plain facts explain nothing.

    The kind is one of `patterns.csv`, "links" between GPUs, or "launch". Of network cards, "net" is the kind of the
    network as in `hocket.judging.fabrics.Fabric`, "rate" is in Gbit/s, and "cards used", "cards named", "cards told"
    and "near cards" are numbers of cards of a node. The source is the file and the line. The sentence has no full stop;
    it is empty where no finding shows it.
    """

    kind: str
    value: str
    source: str
    sentence: str = ""
    subject: str = ""


@dataclass(frozen=True)
class Figure:
    """A measured bandwidth that a text quotes: of the bus or the algorithm, in nccl-tests' output or a sentence."""

    bytes_per_s: float
    is_of_bus: bool
    source: str  # the file and the line
    is_average: bool = False  # over all sizes, small ones too
    is_of_output: bool = False


@dataclass(frozen=True)
class Rows:
    """Rows of one table: sizes in bytes, as the table gives them, with times in seconds."""

    points: tuple[tuple[int, float], ...]
    bus_share: float | None  # where rows give both, its bandwidth divided by that of the algorithm
    cut: str = ""  # the sentence on a last row that lacks its end, which is left out


@dataclass(frozen=True)
class Table:
    """A table of a point-to-point benchmark: the numbers of the lines of its rows, and the source of the first one."""

    rows: tuple[int, ...]
    latency_s: float | None  # of a small message
    bytes_per_s: float | None  # the greatest of large messages in one direction
    is_both_ways: bool  # whether messages may run both ways at once
    source: str


@dataclass(frozen=True)
class Mentions:
    """What a text says of the machine and of the run: what its lines say, in their order, and what follows."""

    file: str
    mentions: tuple[Mention, ...]
    facts: Facts
    disagreements: tuple[str, ...]  # sentences on facts that two lines state differently, without a full stop
    text: str
    figures: tuple[Figure, ...]

    def of(self, kind: str) -> tuple[Mention, ...]:
        """Return the mentions of a kind."""
        return tuple(one for one in self.mentions if one.kind == kind)

    def about(self, subject: str) -> tuple[Mention, ...]:
        """Return the mentions that may explain something."""
        return tuple(one for one in self.mentions if one.subject == subject)

    def values(self, kind: str) -> tuple[str, ...]:
        """Return the values of the mentions of a kind, each once."""
        return tuple(dict.fromkeys(one.value for one in self.of(kind)))

    def only(self, kind: str) -> str | None:
        """Return the value of the mentions of a kind; None if there is none, or several differ."""
        values = self.values(kind)
        return values[0] if len(values) == 1 else None
