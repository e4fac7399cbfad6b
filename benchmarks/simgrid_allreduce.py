"""Recursive doubling among P ranks in SimGrid: `python simgrid_allreduce.py P BYTES [X Y Z]`, P a power of two.

One actor per rank, on a torus of X x Y x Z nodes, or on a cluster with a separate link for each rank, without
contention.
"""

import ctypes
import sys
import sysconfig
import tempfile
from pathlib import Path

# The module of the wheel does not find its own library.
ctypes.CDLL(str(Path(sysconfig.get_path("platlib"), "libsimgrid.so")))
from simgrid import Actor, Engine, Host, Link, Mailbox  # noqa: E402

CLUSTER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="rank-" suffix="" radical="0-{last}" speed="1Gf" bw="1GBps" lat="0.5us"
           sharing_policy="SPLITDUPLEX"/>
</platform>
"""


def load_cluster(engine: Engine, size: int) -> None:
    """Give every rank its own links."""
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as platform:
        platform.write(CLUSTER.format(last=size - 1))
        platform.flush()
        engine.load_platform(platform.name)


def make_torus(engine: Engine, sizes: list[int]) -> None:
    """Put the ranks on a torus by calls: the XML form crashes in the wheel."""
    torus = engine.netzone_root.add_netzone_torus("torus", sizes, 4e9, 100e-9, Link.SharingPolicy.SPLITDUPLEX)
    torus.set_host_cb(lambda zone, _, rank: zone.add_host(f"rank-{rank}", "1Gf"))
    torus.seal()


def recursive_doubling(rank: int, size: int, size_bytes: int) -> None:
    """The program of one rank."""
    for step in range(size.bit_length() - 1):
        peer = rank ^ (1 << step)
        sending = Mailbox.by_name(f"{peer}-{step}").put_async("x", size_bytes)
        Mailbox.by_name(f"{rank}-{step}").get()
        sending.wait()


def main() -> None:
    """Simulate, and print the time at which the last rank ends."""
    size, size_bytes, *sizes = map(int, sys.argv[1:])
    engine = Engine([sys.argv[0], "--log=root.thresh:error"])
    if sizes:
        make_torus(engine, sizes)
    else:
        load_cluster(engine, size)
    for rank in range(size):
        Actor.create(f"rank-{rank}", Host.by_name(f"rank-{rank}"), recursive_doubling, rank, size, size_bytes)
    engine.run()
    print(f"{Engine.clock:.9f} s")


if __name__ == "__main__":
    main()
