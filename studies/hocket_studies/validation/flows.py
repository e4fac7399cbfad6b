"""Messages in SimGrid: `python flows.py`, by a Python that has SimGrid, and without Hocket.

Reads a JSON list of works from standard input, and prints SimGrid's version and the time of each in seconds. A work
has the sizes of a torus, or [n] and "star" for n nodes around a switch; the latency and the bandwidth of links; and for
each rank a list of steps, each with messages to send, pairs of a rank and bytes, and ranks to receive from. A step is
done when all its messages are. Each work has a process of its own: SimGrid has one engine per process.
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
    if work["topology"] == "torus":
        zone = engine.netzone_root.add_netzone_torus("torus", work["sizes"], bandwidth, latency_s, split)
        zone.set_host_cb(lambda zone, _, number: zone.add_host(f"rank-{number}", "1Gf"))
    else:
        zone = engine.netzone_root.add_netzone_star("star")
        for number in range(ranks):
            host = zone.add_host(f"rank-{number}", "1Gf")
            link = zone.add_split_duplex_link(f"link-{number}", bandwidth).set_latency(latency_s)
            zone.add_route(host, None, [LinkInRoute(link, LinkInRoute.Direction.UP)], True)
    zone.seal()

    def act(rank: int) -> None:
        for number, (sends, sources) in enumerate(work["steps"][rank]):
            messages = [Mailbox.by_name(f"{rank}-{to}-{number}").put_async("x", size) for to, size in sends]
            messages += [Mailbox.by_name(f"{source}-{rank}-{number}").get_async() for source in sources]
            ActivitySet(messages).wait_all()

    for rank in range(ranks):
        Actor.create(f"rank-{rank}", Host.by_name(f"rank-{rank}"), act, rank)
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
