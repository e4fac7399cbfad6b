"""What a line of a text says."""

from __future__ import annotations

from dataclasses import dataclass

from hocket.measurements.measurement import Facts

SOCKETS = "TCP sockets"
SHARED_MEMORY = "shared memory"
NO_P2P = "peer-to-peer"
GPUDIRECT = "GPUDirect RDMA"
ACS = "ACS"
ALGORITHM = "algorithm"
PROTOCOL = "protocol"
BINDING = "binding"
LAUNCH = "separate runs"
CARDS = "number of cards"
THROUGH_CPU = "peer-to-peer through the CPU"
TOPOLOGY = "detected topology"
"""What patterns of texts may explain: the subjects of `patterns.csv`, by which findings are sorted."""


@dataclass(frozen=True)
class Mention:
    """A thing that a line says.

    Attributes:
        kind: What it is about: "gpu", "transport", "library", "algorithm", "setting", "topology", "links", "host",
            "nodes", "launch" or "product". Of network cards, "card" is what libraries print; "net" is the kind of the
            network as in `hocket.judging.fabrics.Fabric`, "rate" is in Gbit/s, and "cards used", "cards named",
            "cards told" and "near cards" are numbers of cards of a node.
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
class Mentions:
    """What a text says of the machine and of the run.

    Attributes:
        file: The name of its file.
        mentions: What lines say, in their order.
        facts: Facts that it tells of its measurements. Unknown ones are None.
        disagreements: Sentences on facts that two lines state differently, without a full stop.
        text: The text.
    """

    file: str
    mentions: tuple[Mention, ...]
    facts: Facts
    disagreements: tuple[str, ...]
    text: str

    def of(self, kind: str) -> tuple[Mention, ...]:
        """Return the mentions of a kind."""
        return tuple(one for one in self.mentions if one.kind == kind)

    def about(self, subject: str) -> tuple[Mention, ...]:
        """Return the mentions that may explain something."""
        return tuple(one for one in self.mentions if one.subject == subject)

    def values(self, kind: str) -> tuple[str, ...]:
        """Return the values of the mentions of a kind, each once."""
        return tuple(dict.fromkeys(one.value for one in self.of(kind)))
