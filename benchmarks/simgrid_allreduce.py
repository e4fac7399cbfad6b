"""Recursive doubling of 8 B among P ranks in SimGrid: `python simgrid_allreduce.py P`, P a power of two.

One actor per rank, on a cluster whose ranks have links of their own, so that no message disturbs another.
"""

import ctypes
import sys
import sysconfig
import tempfile
from pathlib import Path

# The wheel's module does not find the library that lies beside it.
ctypes.CDLL(str(Path(sysconfig.get_path("platlib"), "libsimgrid.so")))
from simgrid import Actor, Engine, Host, Mailbox  # noqa: E402

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="rank-" suffix="" radical="0-{last}" speed="1Gf" bw="1GBps" lat="0.5us"
           sharing_policy="SPLITDUPLEX"/>
</platform>
"""


def recursive_doubling(rank: int, size: int) -> None:
    """What one rank does."""
    for step in range(size.bit_length() - 1):
        peer = rank ^ (1 << step)
        sending = Mailbox.by_name(f"{peer}-{step}").put_async("x", 8)
        Mailbox.by_name(f"{rank}-{step}").get()
        sending.wait()


def main() -> None:
    """Simulate, and print the time at which the last rank ends."""
    size = int(sys.argv[1])
    engine = Engine([sys.argv[0], "--log=root.thresh:error"])
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as platform:
        platform.write(PLATFORM.format(last=size - 1))
        platform.flush()
        engine.load_platform(platform.name)
    for rank in range(size):
        Actor.create(f"rank-{rank}", Host.by_name(f"rank-{rank}"), recursive_doubling, rank, size)
    engine.run()
    print(f"{Engine.clock:.9f} s")


if __name__ == "__main__":
    main()
