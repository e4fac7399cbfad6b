"""What a text says, as records: facts, bandwidths that it quotes, and tables."""

from __future__ import annotations

from dataclasses import dataclass

from hocket.measurements.measurement import Facts


@dataclass(frozen=True)
class Mention:
    """A thing that a line says.

    Attributes:
        kind: What it is about: a kind of `patterns.csv`, "links" between GPUs, or "launch". Of network cards, "net" is
            the kind of the network as in `hocket.judging.fabrics.Fabric`, "rate" is in Gbit/s, and "cards used",
            "cards named", "cards told" and "near cards" are numbers of cards of a node.
        value: The value.
        source: The file and the line.
        sentence: What it means, without a full stop; empty where no finding shows it.
        subject: What it may explain; empty for plain facts.
    """

    kind: str
    value: str
    source: str
    sentence: str = ""
    subject: str = ""


@dataclass(frozen=True)
class Figure:
    """A measured bandwidth that a text quotes.

    Attributes:
        bytes_per_s: The bandwidth.
        is_of_bus: Whether it is of the bus, not of the algorithm.
        source: The file and the line.
        is_average: Whether it is the average over sizes, small ones too.
        is_of_output: Whether it is in the output of nccl-tests, not in a sentence.
    """

    bytes_per_s: float
    is_of_bus: bool
    source: str
    is_average: bool = False
    is_of_output: bool = False


@dataclass(frozen=True)
class Rows:
    """Rows of one table.

    Attributes:
        points: Sizes in bytes, as the table gives them, and times in seconds.
        bus_share: The bandwidth of the bus, divided by that of the algorithm, where the rows give both.
        cut: The sentence on a last row that lacks its end, which is left out; empty without one.
    """

    points: tuple[tuple[int, float], ...]
    bus_share: float | None
    cut: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a point-to-point benchmark.

    Attributes:
        rows: The numbers of the lines of its rows.
        latency_s: The time of a small message; None if it has none.
        bytes_per_s: The greatest bandwidth of large messages in one direction; None if it has none.
        is_both_ways: Whether messages run in both directions at once.
        source: The file and the line of its first row.
    """

    rows: tuple[int, ...]
    latency_s: float | None
    bytes_per_s: float | None
    is_both_ways: bool
    source: str


@dataclass(frozen=True)
class Mentions:
    """What a text says of the machine and of the run.

    Attributes:
        mentions: What lines say, in their order.
        facts: Facts that it tells of its measurements. Unknown ones are None.
        disagreements: Sentences on facts that two lines state differently, without a full stop.
        figures: The measured bandwidths that it quotes.
        rows: The rows of its first table with most of them; None if it has none.
    """

    file: str
    mentions: tuple[Mention, ...]
    facts: Facts
    disagreements: tuple[str, ...]
    text: str
    figures: tuple[Figure, ...]
    rows: Rows | None

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
