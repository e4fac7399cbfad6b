"""Timing several calls at once under a real MPI, each on ranks of its own, and each of them alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hocket._native import Error, check_rules
from hocket.base.call import Call
from hocket.definitions.library import Algorithm
from hocket.mpi.benchmark import check_right, check_sizes, compiled_program, reason, rule_of
from hocket.mpi.installation import Installation
from hocket.mpi.launch import Launcher, environment, is_crowded
from hocket.mpi.scene import Director, bench_scene, play


@dataclass(frozen=True)
class Part:
    """A call on the next ranks: an algorithm, the call, and its cadence if there is one."""

    algorithm: Algorithm
    call: Call
    cadence: str | None


@dataclass(frozen=True)
class PartTimes:
    """The times of a call."""

    together_s: tuple[float, ...]  # time with all calls at once, in each round
    alone_s: tuple[float, ...]


def time_together(
    installation: Installation,
    parts: Sequence[Part],
    *,
    limit_s: float,
    least_rounds: int,
    launcher: Launcher,
    director: Director | None = None,
) -> tuple[list[PartTimes], float]:
    """Time calls at once and alone, in turns, in one program; return their times, and the largest error of the clocks.

    A time counts from when the last rank begins its first call until the last rank ends its last one. Each part has the
    next ranks of the program. Limit, rounds and director are as in `bench`.

    Raises:
        Error: A parameter or a size is invalid, the program fails, an algorithm did not run, or a result is wrong.
    """
    program = compiled_program(installation, "jobs")
    ranks = sum(part.call.ranks for part in parts)
    arguments = [f"{limit_s:g}", str(least_rounds), str(int(not is_crowded(installation, launcher, ranks)))]
    for part in parts:
        collective, size = part.algorithm.collective, part.call.size_bytes
        check_sizes(collective, [size], part.call.ranks, f"job {part.algorithm.label}")
        scene = bench_scene(None, part.cadence, part.call.ranks)
        rule = rule_of(scene.rule_of(collective), part.algorithm, part.call)
        check_rules(rule, f"job {part.algorithm.label}")
        arguments += [collective, str(size), scene.argument_with(director), str(part.call.ranks), rule]
    times_by_rank: dict[int, PartTimes] = {}

    def take(value: dict[str, Any]) -> None:
        if "call" in value:
            times_by_rank[value["call"]] = PartTimes(tuple(value["together_s"]), tuple(value["alone_s"]))
            return
        label = parts[value["rule"]].algorithm.label
        check_right(value, label)
        if not value["has_run"]:
            raise Error(f"{label}, {value['size']} B: has not run: {reason(value)}")

    line = launcher(installation, ranks, [str(program), *arguments], environment(installation, None))
    clock_error_s = play(line, {}, program, take, director=director)
    assert clock_error_s is not None  # the program always tells it
    return [times_by_rank[number] for number in range(len(parts))], clock_error_s
