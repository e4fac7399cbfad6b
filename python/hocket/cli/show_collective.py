"""`hocket show COLLECTIVE`: what a collective does, its arguments, and its algorithms."""

from __future__ import annotations

from collections.abc import Sequence

from hocket.cli.output import print_facts, print_json, print_table
from hocket.cli.printing import say
from hocket.definitions.library import COLLECTIVES, MEANINGS, Algorithm

_SIZES = {
    "the block of one rank": ("allgather", "gather", "gatherv", "neighbor_allgather"),
    "one block": ("alltoall", "alltoallv", "neighbor_alltoall", "scatter", "scatterv"),
}
_VECTOR = "the whole vector"


def show_collective(name: str, among: Sequence[Algorithm], *, as_json: bool) -> None:
    """Print a collective."""
    algorithms = [algorithm for algorithm in among if algorithm.collective == name]
    arguments = _arguments(name)
    if as_json:
        entries = [{"name": each.name, "summary": each.summary} for each in algorithms]
        print_json({"collective": name, "meaning": MEANINGS[name], "arguments": arguments, "algorithms": entries})
        return
    say(name, bold=True)
    say(f"{MEANINGS[name]}\n")
    print_facts(arguments.items())
    say()
    print_table(["algorithm", "what it is"], [(each.name, each.summary) for each in algorithms])
    say(f"\nOne of them: hocket show {name} {algorithms[0].name}")


def _arguments(collective: str) -> dict[str, str]:
    """Return the options that describe a call of a collective, and what each one counts."""
    size = next((size for size, names in _SIZES.items() if collective in names), _VECTOR)
    arguments_needed = {"--ranks": "how many ranks"}
    facts = COLLECTIVES[collective]
    if facts.has_size:
        arguments_needed["--size"] = f"{size}, such as 64KiB"
    if facts.has_root:
        arguments_needed["--root"] = "the root; 0 if left out"
    if facts.has_neighbors:
        arguments_needed["--neighbors"] = "who are neighbours: torus, mesh or moore, such as torus:4x4"
    return arguments_needed
