"""Comparisons of a lab with the simulator as a picture: times on a diagonal, and maps of the bytes on links."""

from __future__ import annotations

from typing import TypeAlias

import altair as alt

from hocket.base.units import format_bytes, format_count, format_time
from hocket.definitions.topology import LinkUse, Topology
from hocket.drawing.link_map import link_chart
from hocket.words.simulations import fault_words, played_on_clocks
from hocket_lab.comparing import Compared

Chart: TypeAlias = "alt.LayerChart | alt.VConcatChart"

_SIDE = 360  # pixels
_OF_THEIR_OWN = alt.Resolve(scale=alt.ScaleResolveMap(color="independent", shape="independent"))
"""Each picture has its own colours and its own legend."""


def compared_chart(what: Compared, topology: Topology) -> Chart:
    """Return measured over simulated times, with intervals, and below them maps of the bytes on links.

    Raises:
        Error: There are too many links.
    """
    middle, ninth, worst = what.deviation
    subtitle = [
        f"{what.mpi}; lab: {what.lab}",
        f"medians of {min(point.samples for point in what.points)} samples and more, with 95 % intervals",
        *played_on_clocks(what),
        *fault_words(what.faults, what.faults_late_s),
        f"deviation: median {middle:.1%}, nine of ten within {ninth:.1%}, worst {worst:.1%}",
    ]
    title = alt.TitleParams(
        f"{what.collective} on {format_count(what.ranks, 'rank')}", subtitle=subtitle, anchor="start"
    )
    times = _times(what)
    if not what.links:
        times.title = title
        return times
    return alt.VConcatChart(vconcat=[times, _loads(what, topology)], title=title, resolve=_OF_THEIR_OWN)


def _times(what: Compared) -> alt.LayerChart:
    rows = [
        {
            "algorithm": point.algorithm,
            "size": format_bytes(point.size_bytes),
            "measured_ms": point.measured_s * 1e3,
            "low_ms": point.low_s * 1e3,
            "high_ms": point.high_s * 1e3,
            "simulated_ms": point.simulated_s * 1e3,
            "time": f"{format_time(point.measured_s)} measured, {format_time(point.simulated_s)} simulated",
        }
        for point in what.points
    ]
    times_ms = [time_s * 1e3 for point in what.points for time_s in (point.low_s, point.high_s, point.simulated_s)]
    ends_ms = [min(times_ms), max(times_ms)]
    diagonal = alt.Chart({"values": [{"simulated_ms": end, "measured_ms": end} for end in ends_ms]})
    base = alt.Chart({"values": rows}).encode(
        x=alt.X("simulated_ms:Q", title="simulated (ms)").scale(type="log", nice=False, domain=ends_ms),
        color=alt.Color("algorithm:N", title="algorithm"),
        tooltip=["algorithm:N", "size:N", "time:N"],
    )
    y = alt.Y("measured_ms:Q", title="measured (ms)").scale(type="log", nice=False, domain=ends_ms)
    line = diagonal.mark_line(color="#888", strokeDash=[4, 4]).encode(x=alt.X("simulated_ms:Q").scale(type="log"), y=y)
    intervals = base.mark_rule().encode(y=alt.Y("low_ms:Q", title="measured (ms)"), y2="high_ms:Q")
    points = base.mark_point(filled=True, size=60).encode(y=y, shape=alt.Shape("algorithm:N", title="algorithm"))
    return alt.LayerChart(layer=[line, intervals, points], width=_SIDE, height=_SIDE)


def _loads(what: Compared, topology: Topology) -> alt.VConcatChart:
    runs = {
        "measured": [LinkUse(link.link, link.name, link.measured_bytes, 0.0, 0.0) for link in what.links],
        "simulated": [LinkUse(link.link, link.name, link.simulated_bytes, 0.0, 0.0) for link in what.links],
    }
    return link_chart(runs, topology, title="links")
