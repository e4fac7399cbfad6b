"""Messages in SimGrid: `python flows.py`, by a Python that has SimGrid, and without Hocket.

Reads a JSON list of works from standard input, and prints SimGrid's version and the time of each in seconds. A work
has the sizes of a torus, [n] and "star" for n nodes around a switch, the groups, routers of a group and nodes of a
router of a dragonfly, or the children and parents ("up") of each level of a fat tree; the latency and the bandwidth of
links; the number of each rank's host; and for each rank a list of steps, each with messages to send, pairs of a rank
and bytes, and ranks to receive from. A step is done when all its messages are. Each work has a process of its own:
SimGrid has one engine per process.
"""

import ctypes
import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

_SECONDS = 60


def run_one(work: Any) -> str:
    """Simulate a work, and return its time."""
    # The wheel's module does not find the library that lies beside it.
    library = Path(sysconfig.get_path("platlib"), "libsimgrid.so")
    if library.exists():
        ctypes.CDLL(str(library))
    from simgrid import ActivitySet, Actor, Engine, Host, Link, LinkInRoute, Mailbox

    settings = ("network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0", "network/weight-S:0")
    options = [f"--cfg={setting}" for setting in (*settings, "precision/timing:1e-12")]
    engine = Engine([sys.argv[0], "--log=root.thresh:error", *options])
    latency_s, bandwidth, ranks = work["latency_s"], work["bandwidth"], len(work["steps"])
    split = Link.SharingPolicy.SPLITDUPLEX
    root, sizes, kind = engine.netzone_root, work["sizes"], work["topology"]
    if kind == "torus":
        zone = root.add_netzone_torus(kind, sizes, bandwidth, latency_s, split)
    elif kind == "dragonfly":
        groups, routers, nodes = sizes
        zone = root.add_netzone_dragonfly(kind, (groups, 1), (1, 1), (routers, 1), nodes, bandwidth, latency_s, split)
    elif kind == "fat_tree":
        ones = [1] * len(sizes)
        zone = root.add_netzone_fatTree(kind, len(sizes), sizes, work["up"], ones, bandwidth, latency_s, split)
    else:
        zone = root.add_netzone_star(kind)
        for number in range(ranks):
            host = zone.add_host(f"host-{number}", "1Gf")
            link = zone.add_split_duplex_link(f"link-{number}", bandwidth).set_latency(latency_s)
            zone.add_route(host, None, [LinkInRoute(link, LinkInRoute.Direction.UP)], True)
    if kind != "star":
        zone.set_host_cb(lambda zone, _, number: zone.add_host(f"host-{number}", "1Gf"))
    zone.seal()

    def act(rank: int) -> None:
        for number, (sends, sources) in enumerate(work["steps"][rank]):
            messages = [Mailbox.by_name(f"{rank}-{to}-{number}").put_async("x", size) for to, size in sends]
            messages += [Mailbox.by_name(f"{source}-{rank}-{number}").get_async() for source in sources]
            ActivitySet(messages).wait_all()

    for rank in range(ranks):
        Actor.create(f"rank-{rank}", Host.by_name(f"host-{work['hosts'][rank]}"), act, rank)
    engine.run()
    return f"{Engine.clock:.12g}"


def main() -> None:
    """Simulate one work, or each in a process of its own."""
    works = json.load(sys.stdin)
    if isinstance(works, dict):
        print(run_one(works))
        return
    from importlib.metadata import version

    times_s = []
    for work in works:
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", __file__],
            input=json.dumps(work),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if ran.returncode:
            sys.exit((ran.stderr.strip().splitlines() or ["it says nothing"])[-1])
        times_s.append(float(ran.stdout.split()[-1]))
    print(json.dumps({"version": version("simgrid"), "times_s": times_s}))


if __name__ == "__main__":
    main()
