"""`hocket verify`."""

from collections.abc import Callable
from pathlib import Path

import hocket
from hocket.examples import ring_allreduce
from tests.conftest import Ran

WRONG = '''
@hocket.algorithm("allreduce")
def lossy(r, c):
    """Recursive doubling that forgets the last step."""
    result = c.result(r)
    scratch = r.scratch(len(result))
    yield r.copy(c.input(r), result)
    step = 1
    while 2 * step < r.size:
        yield r.sendrecv(r.rank ^ step, result, r.rank ^ step, scratch)
        yield r.reduce(r.rank ^ step, scratch, result)
        step *= 2
'''


def test_a_right_algorithm_is_ok(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("verify allreduce ring --ranks 1-8,11")
    assert ran.status == 0
    assert ran.out.startswith("allreduce/ring: ok, P = 1-8, 11, ")
    assert ran.out.splitlines()[-1].startswith("ok: ")


def test_json_has_the_keys_that_other_tools_rely_on(hocket_command: Callable[..., Ran]) -> None:
    found = hocket_command("verify allreduce ring --ranks 1-6 --json").json
    assert found["ok"] is True and found["counterexamples"] == [] and found["checked"] > 6


def test_a_collective_alone_means_all_its_algorithms(hocket_command: Callable[..., Ran]) -> None:
    rows = hocket_command("verify allreduce --ranks 1-4").out.splitlines()
    for algorithm in hocket.algorithms("allreduce"):
        assert any(row.startswith(f"{algorithm.label}: ok") for row in rows)


def test_all_means_the_catalogue_and_what_is_loaded(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("verify --all --ranks 1-4 --load", ring_allreduce.__file__)
    assert ran.status == 0
    for label in ("allreduce/chunked_ring", *(algorithm.label for algorithm in hocket.catalogue())):
        assert f"{label}: ok" in ran.out


def test_a_wrong_algorithm_has_a_counterexample_to_read(
    hocket_command: Callable[..., Ran], program_file: Callable[[str], Path]
) -> None:
    ran = hocket_command("verify lossy --ranks 2,4,8 --load", program_file(WRONG))
    assert ran.status == 1
    assert ran.out.startswith("allreduce/lossy: WRONG, P = 2, 4, 8, ")
    for part in ("\nallreduce/lossy, P = 2, ", "\n  expected ", "\n  got "):
        assert part in ran.out
    assert ran.out.splitlines()[-1].startswith("wrong: ")


def test_a_wrong_algorithm_is_wrong_in_json_too(
    hocket_command: Callable[..., Ran], program_file: Callable[[str], Path]
) -> None:
    ran = hocket_command("verify lossy --ranks 4 --json --load", program_file(WRONG))
    assert ran.status == 1
    assert ran.json["ok"] is False
    assert {"collective", "algorithm", "ranks", "kind", "message"} <= ran.json["counterexamples"][0].keys()


def test_rank_counts_that_are_refused_are_told(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("verify allgather recursive_doubling --ranks 1-8")
    assert ran.status == 0
    assert "not for P = 3, 5-7" in ran.out


def test_only_refused_rank_counts_are_bad_input(bad_input: Callable[..., str]) -> None:
    assert "needs a power of two" in bad_input("verify allgather recursive_doubling --ranks 3,6")
