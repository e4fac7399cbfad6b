"""Fuzz the readers of tuning files: whatever a file holds, there are rules or an error of one line.

It changes valid files at random and reads them under limits of memory and time. It also checks, converts, writes and
rereads the rules, which must still decide alike. On a failure it prints the failure and the place of the file, and ends
with status 1. Example: `python tools/fuzz_tuning.py --minutes 10 --seed 7`.
"""

import argparse
import random
import resource
import signal
import sys
import time
import traceback
from itertools import product
from pathlib import Path

from fuzz_traces import CHANGES, LONGEST_LINE, MEMORY_BYTES, TIME_S, out_of_time

from hocket import LIBRARY_RULES, Error
from hocket.rules.tuning_files.checking import findings
from hocket.rules.tuning_files.conversion import convert_rules
from hocket.rules.tuning_files.deciding import deciding_rule, situation
from hocket.rules.tuning_files.decisions import defaults_of
from hocket.rules.tuning_files.form import Format, Rules
from hocket.rules.tuning_files.formats import FORMATS, read

LARGEST_BYTES = 1 << 16
RANKS = (1, 2, 7, 8, 64)
SIZES = (0, 1, 100, 4096, 1 << 20)
PER_NODE = (1, 4)
MOST_RULES = 300
"""Files with more rules are only read: the time of the other checks grows with the square of the rules."""


def samples() -> dict[str, list[bytes]]:
    """Return valid files by format."""
    found = {"hocket": [text.encode() for text in LIBRARY_RULES.values()]}
    for name, format in FORMATS.items():
        if format.read is None or name == "hocket":
            continue
        texts = [
            format.write(
                convert_rules(Rules("hocket", rules_of(text).rules[:40]), format.library, ranks=[4, 8, 9]).rules
            )
            for text in LIBRARY_RULES.values()
        ]
        found[name] = [text.encode() for text in texts]
    found["mpich-5.0"].append(defaults_of("mpich-5.0").text.encode())
    for name, line in {
        "nccl-2": b"allreduce,0,65536,tree,simple,2,1,-1,-1,1\nbroadcast,32769,-1,ring,ll128,-1,-1,16,4,0\n",
        "rccl-2": b"allgather,1537,3072,ring,ll128,48,2,16,-1,-1,cpx,4\nreduce,0,9,pat,ll,-1,-1,-1\n",
        "ncclx-2.json": b'{"rules": [{"filter": {"collective": "allgather", "bytesPerRank": "[0,8)", "nNodes": 2},\n'
        b'"config": {"algorithm": "tree", "protocol": "simple", "channels": 4, "chunkSize": 65536}}]}\n',
        "ncclx-2": b"allgather,[0,2097152),tree,simple,4,2,(1,8],65536\nallreduce,*,ring,ll,-1,*,4\n",
    }.items():
        found[name].append(line)
    found["ucc-1"].append(b"allreduce,bcast:0-4K,1m-inf:host,cuda:[2-16]:inf:@knomial#alltoall:10")
    return found


def rules_of(text: str) -> Rules:
    reader = FORMATS["hocket"].read
    assert reader is not None
    return reader(text, "rules")


def check(format: Format, file: Path, content: bytes) -> bool:
    """Read a file and use its rules; return whether it has rules.

    Raises:
        AssertionError: An error is not one line or does not name the file, or rules decide otherwise after they were
            written and read again.
    """
    file.write_bytes(content)
    try:
        rules = read(file, format.name)
    except Error as error:
        message = str(error)
        is_short = len(message) < LONGEST_LINE + 200 or format.name == "hocket"  # its errors quote a whole line
        assert "\n" not in message and is_short and message.startswith(str(file)), message
        return False
    if len(rules.rules) > MOST_RULES:
        return True
    findings(rules, format.name)
    again = written_again(format, rules)
    for other in ("hocket", "openmpi-5.0", "mpich-5.0", "nccl-2", "ncclx-2"):
        convert_rules(rules, other, ranks=[4, 8])
    for function in rules.functions if again else ():
        for ranks in RANKS:
            for size, per_node in product(SIZES, PER_NODE):
                call = situation(function, ranks, size, ranks_per_node=per_node)
                choices = [rule and rule.choice for rule in (deciding_rule(rules, call), deciding_rule(again, call))]
                is_left_open = choices[0] is None and format.name == "mpich-5.0"  # MPICH's own tree is written here
                assert choices[0] == choices[1] or is_left_open, f"{function}, {ranks} ranks, {size} bytes: {choices}"
    return True


def written_again(format: Format, rules: Rules) -> Rules | None:
    """Write rules and read them again; return None if the format cannot hold them."""
    assert format.read is not None
    try:
        text = format.write(rules)
    except Error:
        return None
    return format.read(text, "written")


def fuzz(name: str, some: list[bytes], minutes: float, seed: int, save: Path) -> bool:
    """Fuzz a format until a failure or the end of the time; return whether there was a failure."""
    chance = random.Random(f"{name} {seed}")
    until, inputs, taken = time.monotonic() + 60 * minutes, 0, 0
    save.mkdir(exist_ok=True)
    file = save / f"{name}-{seed}"
    for content in some:
        assert check(FORMATS[name], file, content), f"{name}: not read before it is changed"
    while time.monotonic() < until:
        content = chance.choice(some)
        for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
            content = chance.choice(CHANGES)(content, chance.choice(some), chance)[:LARGEST_BYTES]
        signal.setitimer(signal.ITIMER_REAL, TIME_S)
        try:
            taken += check(FORMATS[name], file, content)
        except BaseException:
            signal.setitimer(signal.ITIMER_REAL, 0)
            told = "\n".join(line[:LONGEST_LINE] for line in traceback.format_exc().splitlines())
            print(f"{name}, input {inputs}, kept as {file}:\n{told}", flush=True)
            return True
        signal.setitimer(signal.ITIMER_REAL, 0)
        inputs += 1
    file.unlink()
    print(f"{name}: {inputs} inputs, {taken} of them still rules; nothing found", flush=True)
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="How long, for each format.")
    parser.add_argument("--seed", type=int, default=0, help="Same seed, same inputs.")
    parser.add_argument(
        "--format", choices=[name for name, each in FORMATS.items() if each.read], help="Only this one."
    )
    parser.add_argument("--save", type=Path, default=Path("fuzzed"), help="Where to keep files that something led to.")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (2 * MEMORY_BYTES, 2 * MEMORY_BYTES))
    signal.signal(signal.SIGALRM, out_of_time)
    found = [
        fuzz(name, some, options.minutes, options.seed, options.save)
        for name, some in samples().items()
        if options.format in (None, name)
    ]
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main())
