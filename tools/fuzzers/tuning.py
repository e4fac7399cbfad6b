"""Readers of tuning files; rules are also checked, converted, written and read again, and must decide alike."""

import random
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path

from fuzzers.harness import LONGEST_LINE, Target, is_one_line, of_one_file
from hocket import LIBRARY_RULES, Error
from hocket.rules.tuning_files.checking import findings
from hocket.rules.tuning_files.conversion import convert_rules
from hocket.rules.tuning_files.deciding import deciding_rule, situation
from hocket.rules.tuning_files.decisions import defaults_of
from hocket.rules.tuning_files.form import Format, Rules
from hocket.rules.tuning_files.formats import FORMATS, read

RANKS = (1, 2, 7, 8, 64)
SIZES = (0, 1, 100, 4096, 1 << 20)
PER_NODE = (1, 4)
MEMORY_BYTES, TIME_S = 2 << 30, 10
MOST_RULES = 300
"""Files with more rules are only read: the time of the other checks grows with the square of the rules."""


def samples() -> dict[str, list[bytes]]:
    """Return valid files by format."""
    found = {"hocket": [text.encode() for text in LIBRARY_RULES.values()]}
    for name, format in FORMATS.items():
        if name == "hocket":
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
    found["intelmpi-2021"].append(
        b"export I_MPI_ADJUST_BCAST='1:0-9,100;3:7-4096;2'\n-genv I_MPI_ADJUST_REDUCE 2:@1-4;1\n"
    )
    found["ucc-1"].append(b"allreduce,bcast:0-4K,1m-inf:host,cuda:[2-16]:inf:@knomial#alltoall:10")
    return found


def rules_of(text: str) -> Rules:
    return FORMATS["hocket"].read(text, "rules")


def check(format: Format, file: Path, _: random.Random) -> bool:
    """Read a file and use its rules; return whether it has rules.

    Raises:
        AssertionError: An error is not one line or does not name the file, or rules decide otherwise after they were
            written and read again.
    """
    try:
        rules = read(file, format.name)
    except Error as error:
        message = str(error)
        is_short = len(message) < LONGEST_LINE + 200 or format.name == "hocket"  # its errors quote a whole line
        assert is_one_line(message, file) and is_short, message
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
    try:
        text = format.write(rules)
    except Error:
        return None
    return format.read(text, "written")


def targets(_: Sequence[Path]) -> dict[str, Target]:
    return {name: of_one_file(some, partial(check, FORMATS[name])) for name, some in samples().items()}
