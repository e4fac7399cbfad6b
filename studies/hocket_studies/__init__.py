"""Studies: the figures and claims of a paper, computed anew. One module per paper; each has a `STUDY`."""

from __future__ import annotations

from hocket_studies import atlas, jitter, landscape, multicast, optical, pacing, routing, trinaryx3
from hocket_studies.study import Claim, Figure, Scope, Study

__all__ = ["STUDIES", "Claim", "Figure", "Scope", "Study"]

STUDIES: dict[str, Study] = {
    "atlas": atlas.STUDY,
    "jitter": jitter.STUDY,
    "landscape": landscape.STUDY,
    "multicast": multicast.STUDY,
    "optical": optical.STUDY,
    "pacing": pacing.STUDY,
    "routing": routing.STUDY,
    "trinaryx3": trinaryx3.STUDY,
}
"""The studies by name."""
