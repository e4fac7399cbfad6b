"""Pictures of labs."""

import json

import hocket
from hocket_lab.comparing import Compared, LinkLoad, Point
from hocket_lab.pictures import compared_chart

TORUS = """name = "mine"
[network]
model = "links"
topology = "torus"
dims = [3]
link_bandwidth = "1 GB/s"
"""


def test_measured_and_simulated_bytes_of_links_have_the_same_colours() -> None:
    topology = hocket.Machine.parse(TORUS).topology
    assert topology is not None
    times_s = {"measured_s": 2e-3, "low_s": 1e-3, "high_s": 3e-3, "simulated_s": 2e-3}
    points = (Point(algorithm="ring", size_bytes=1024, samples=5, **times_s),)
    loads = (LinkLoad(0, "+x from (0)", 4000, 3000, 0), LinkLoad(2, "+x from (1)", 1000, 1000, 0))
    faults = {"faults": ("link 0 -> 1, 5..9 ms, down",), "faults_late_s": 2e-3}
    what = Compared("a lab", "allreduce", 3, "an MPI", points, loads, (), **faults)
    chart = compared_chart(what, topology).to_dict()
    told = chart["title"]["subtitle"]
    assert "fault: link 0 -> 1, 5..9 ms, down" in told and "links changed at most 2.000 ms late" in told
    times, maps = chart["vconcat"]
    assert len(times["layer"]) == 3
    measured, simulated = maps["vconcat"]
    assert [run["title"]["text"] for run in (measured, simulated)] == ["measured", "simulated"]
    shares = []
    for run in (measured, simulated):
        panel = run["vconcat"][0]["hconcat"][0]
        assert '"3.906 KiB"]' in panel["encoding"]["color"]["legend"]["labelExpr"]
        shares.append([cell["bytes"] for cell in json.loads(chart["datasets"][panel["data"]["name"]])])
    assert shares == [[1.0, 0.25, 0.0], [0.75, 0.25, 0.0]]
