"""Algorithms written in Python."""

import gc
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import hocket
from hocket.definitions import authoring
from hocket.examples.ring_allreduce import chunked_ring
from hocket.typing import Call, Rank, Steps

Write = Callable[[str], Path]

PAIR = hocket.Call(ranks=2, size_bytes=8)

STAR = '''
@hocket.algorithm("broadcast")
def star(r, c):
    """The root sends to everybody.

    Counts: P-1 messages.
    """
    if r.rank == c.root:
        yield r.join(*(r.send(peer, c.result(r)) for peer in range(r.size) if peer != c.root))
    else:
        yield r.recv(c.root, c.result(r))
'''


@hocket.algorithm("allreduce", parameters=[hocket.Parameter("times", default=2, least=1, meaning="repetitions")])
def repeated_ring(r: Rank, c: Call) -> Steps:
    """Ring with computing before it."""
    for _ in range(c.parameter("times")):
        yield r.compute(1e-3)
    yield from chunked_ring(r, c)


@pytest.mark.parametrize("path", ["mine.py", "./mine.py"])
def test_an_error_names_the_line_of_a_file_that_is_named_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (tmp_path / "mine.py").write_text("import hocket\n\n\ndef fail():\n    return unknown\n\n\nfail()\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hocket.Error, match=rf"^{path}:5: NameError: name 'unknown' is not defined$"):
        hocket.load(path)


def test_the_decorator_tells_what_the_function_says() -> None:
    assert chunked_ring.label == "allreduce/chunked_ring"
    assert chunked_ring.summary.startswith("Ring: every rank reduces one chunk")
    assert "Source: P. Patarasuk, X. Yuan" in chunked_ring.header
    assert "r.sendrecv(right, outgoing, left, arrived)" in chunked_ring.listing
    assert chunked_ring.cost


def test_it_is_right() -> None:
    verdict = hocket.verify(chunked_ring, range(1, 10))
    assert verdict.ok, verdict.counterexamples[0]["message"]
    assert verdict.checked > 0


def test_it_takes_the_time_of_its_compiled_twin() -> None:
    for ranks, size_bytes in [(1, 8), (5, 1000), (8, 65536)]:
        call = hocket.Call(ranks=ranks, size_bytes=size_bytes)
        mine, twin = hocket.simulate(chunked_ring, call), hocket.simulate("allreduce/ring", call)
        assert (mine.time_s, mine.messages, mine.message_bytes) == (twin.time_s, twin.messages, twin.message_bytes)


def test_it_runs_on_real_data() -> None:
    inputs = [np.arange(10) * rank for rank in range(4)]
    for result in hocket.run(chunked_ring, inputs):
        np.testing.assert_array_equal(result, np.arange(10) * 6)


def test_its_schedule_takes_the_same_time() -> None:
    call = hocket.Call(ranks=4, size_bytes=4000)
    schedule = hocket.record(chunked_ring, call)
    assert hocket.simulate(schedule).time_s == hocket.simulate(chunked_ring, call).time_s


def test_it_is_compared_with_the_catalogue() -> None:
    found = hocket.compare([chunked_ring, hocket.find("allreduce/ring")], [hocket.Call(ranks=4, size_bytes=4000)])
    assert found.fastest(4000) == ("chunked_ring", "ring")


def test_its_precondition_is_enforced() -> None:
    with pytest.raises(hocket.Error, match=r"allreduce chunked_ring needs a commutative operator.* \(P = 4\)"):
        hocket.simulate(chunked_ring, hocket.Call(ranks=4, size_bytes=8, commutative=False))


def test_its_parameters_have_defaults_and_bounds() -> None:
    call = hocket.Call(ranks=2, size_bytes=8)
    by_default = hocket.simulate(repeated_ring, call)
    assert by_default.parameters == {"times": 2}
    once = hocket.simulate(repeated_ring, hocket.Call(ranks=2, size_bytes=8, parameters={"times": 1}))
    assert by_default.time_s.mean - once.time_s.mean == pytest.approx(1e-3)
    with pytest.raises(hocket.Error, match="allreduce repeated_ring: parameter times = 0, expected at least 1"):
        hocket.simulate(repeated_ring, hocket.Call(ranks=2, size_bytes=8, parameters={"times": 0}))


def test_a_wrong_program_has_a_counterexample() -> None:
    @hocket.algorithm("allreduce")
    def forgetful(r: Rank, c: Call) -> Steps:
        """Every rank keeps what it has."""
        yield r.copy(c.input(r), c.result(r))

    verdict = hocket.verify(forgetful, [1, 2])
    assert not verdict.ok
    assert verdict.counterexamples[0]["ranks"] == 2
    assert "expected" in verdict.counterexamples[0]["message"]


def test_what_a_program_raises_is_one_line() -> None:
    @hocket.algorithm("allreduce")
    def broken(r: Rank, c: Call) -> Steps:
        yield r.copy(c.input(r), c.result(r))
        raise KeyError("oops")

    with pytest.raises(hocket.Error, match=r"^.*test_authoring\.py:\d+: allreduce/broken: KeyError: 'oops'$"):
        hocket.simulate(broken, hocket.Call(ranks=2, size_bytes=8))


class MuteError(Exception):
    def __str__(self) -> str:
        raise ValueError("no message")


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (SystemExit(0), "SystemExit: 0"),
        (GeneratorExit(), "GeneratorExit"),
        (BaseException("base"), "BaseException: base"),
        (ValueError("two\nlines"), "ValueError: two lines"),
        (MuteError(), "MuteError: its error message cannot be printed"),
    ],
)
def test_whatever_a_program_raises_is_one_line(raised: BaseException, told: str) -> None:
    @hocket.algorithm("allreduce")
    def broken(r: Rank, c: Call) -> Steps:
        yield r.copy(c.input(r), c.result(r))
        raise raised

    with pytest.raises(hocket.Error, match=rf"^.*test_authoring\.py:\d+: allreduce/broken: {told}$"):
        hocket.simulate(broken, PAIR)
    (found,) = hocket.verify(broken, [2]).counterexamples
    assert (found["kind"], found["ranks"], found["step"]) == ("exception", 2, 2)
    assert re.fullmatch(rf".*test_authoring\.py:\d+: {told}", found["got"])


@pytest.mark.parametrize(
    ("garbage", "kind"),
    [(lambda r: 3, "int"), (lambda r: None, "NoneType"), (lambda r: [], "list"), (lambda r: r, "Rank")],
)
def test_what_is_no_step_is_refused_where_it_is_yielded(garbage: Callable[[Rank], object], kind: str) -> None:
    @hocket.algorithm("allreduce")
    def yields(r: Rank, c: Call) -> Steps:
        yield garbage(r)

    @hocket.algorithm("allreduce")
    def joins(r: Rank, c: Call) -> Steps:
        yield r.join(r.compute(0.0), garbage(r))

    for program in (yields, joins):
        with pytest.raises(hocket.Error, match=rf"authoring\.py:\d+: {program.label}: got {kind}, expected a step"):
            hocket.simulate(program, PAIR)


@hocket.algorithm("allreduce")
def endless(r: Rank, c: Call) -> Steps:
    yield endless(r, c)


@hocket.algorithm("allreduce")
def endless_join(r: Rank, c: Call) -> Steps:
    yield r.join(endless_join(r, c), endless_join(r, c))


@hocket.algorithm("allreduce")
def towering(r: Rank, c: Call) -> Steps:
    step = r.compute(0.0)
    for _ in range(100_000):
        step = r.join(step)
    yield step


@pytest.mark.parametrize("program", [endless, endless_join, towering])
def test_steps_that_lie_too_deep_are_refused(program: hocket.Algorithm) -> None:
    message = rf"authoring\.py:\d+: {program.label}: steps are nested too deeply, expected at most 500 levels$"
    with pytest.raises(hocket.Error, match=message):
        hocket.simulate(program, PAIR)


def test_as_deep_as_allowed_is_no_problem_for_a_small_stack() -> None:
    def part(r: Rank, levels: int) -> Steps:
        yield r.join(part(r, levels - 2)) if levels > 1 else r.compute(1.0)

    @hocket.algorithm("allreduce")
    def deep(r: Rank, c: Call) -> Steps:
        yield part(r, 497)

    old = threading.stack_size(1 << 20)
    try:
        with ThreadPoolExecutor(1) as executor:
            assert executor.submit(hocket.simulate, deep, PAIR).result().time_s.mean == 1.0
    finally:
        threading.stack_size(old)


def test_a_program_that_is_given_up_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    @hocket.algorithm("allreduce")
    def clinging(r: Rank, c: Call) -> Steps:
        while True:
            try:
                yield r.recv(r.rank, c.result(r))
            finally:
                yield r.compute(0.0)

    with pytest.raises(hocket.Error, match=r"^deadlock"):
        hocket.simulate(clinging, PAIR)
    gc.collect()
    assert capfd.readouterr() == ("", "")


def test_a_wrong_use_of_a_verb_is_one_line_with_its_place() -> None:
    @hocket.algorithm("allreduce")
    def astray(r: Rank, c: Call) -> Steps:
        """Sends to a rank that does not exist."""
        yield r.send(r.size, c.result(r))

    message = r"^.*test_authoring\.py:\d+: allreduce/astray: rank 2 does not exist, expected a rank from 0 to 1$"
    with pytest.raises(hocket.Error, match=message):
        hocket.simulate(astray, hocket.Call(ranks=2, size_bytes=8))


def test_a_file_is_loaded(program_file: Write) -> None:
    (star,) = hocket.load(program_file(STAR))
    assert (star.label, star.summary) == ("broadcast/star", "The root sends to everybody.")
    assert hocket.verify(star, range(1, 6)).ok


def test_a_library_is_the_catalogue_with_files(program_file: Write) -> None:
    whole = authoring.library([program_file(STAR)], base=hocket.catalogue())
    assert whole[:-1] == hocket.catalogue()
    assert whole[-1].label == "broadcast/star"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n", r"mine\.py:2: SyntaxError: "),
        ("x = 1\ny = x / 0\n", r"mine\.py:3: ZeroDivisionError: division by zero"),
        ("import nowhere\n", r"mine\.py:2: ModuleNotFoundError: No module named 'nowhere'"),
        ("x = 1\0\n", r"mine\.py:1: SyntaxError: source code string cannot contain null bytes"),
        ("raise SystemExit(3)\n", r"mine\.py:2: SystemExit: 3"),
        ("", r"mine\.py: defines no algorithm, expected a generator function under @hocket.algorithm"),
        (
            STAR.replace("broadcast", "braodcast"),
            r'mine\.py:3: unknown collective "braodcast", did you mean broadcast?',
        ),
        (STAR.replace("star", "binomial"), r"mine\.py:[34]: the catalogue has an algorithm broadcast/binomial"),
        (
            '@hocket.algorithm("broadcast")\ndef f(r, c):\n    return []\n',
            r"mine\.py:[23]: broadcast/f is not a program, expected a generator function of a rank and a call",
        ),
    ],
)
def test_a_mistake_in_a_file_is_one_line_with_its_place(program_file: Write, text: str, message: str) -> None:
    with pytest.raises(hocket.Error, match=message) as refusal:
        hocket.load(program_file(text))
    assert "\n" not in str(refusal.value)


def test_two_files_cannot_define_the_same_name(program_file: Write, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text("import hocket\n" + STAR)
    with pytest.raises(hocket.Error, match=r"other\.py: there is another algorithm broadcast/star"):
        authoring.library([program_file(STAR), other], base=hocket.catalogue())


def test_what_is_no_python_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(hocket.Error, match=r"none\.py: no such file"):
        hocket.load(tmp_path / "none.py")
    (tmp_path / "text.txt").touch()
    with pytest.raises(hocket.Error, match=r"text\.txt: not a Python file"):
        hocket.load(tmp_path / "text.txt")


@hocket.algorithm("barrier", refuses=lambda c: None if c.ranks == 3 else "needs 3 ranks")
def changing_its_mind(r: Rank, c: Call) -> Steps:
    """Rank 0 takes what rank 1 sends, no longer waits for rank 2, and then asks that one for its message."""
    empty = r.scratch(0)
    if r.rank == 0:
        _winner, _got, rest = yield r.first(r.recv(1, empty), r.recv(2, empty))
        del rest
        yield r.send(2, empty)
        yield r.recv(2, empty)
        yield r.join(r.send(1, empty, tag=1), r.send(2, empty, tag=1))
    else:
        yield r.send(0, empty) if r.rank == 1 else part_of_rank_2(r)
        yield r.recv(0, empty, tag=1)


def part_of_rank_2(r: Rank) -> Steps:
    yield r.recv(0, r.scratch(0))
    yield r.send(0, r.scratch(0))


def test_a_dropped_rest_is_withdrawn() -> None:
    assert hocket.simulate(changing_its_mind, hocket.Call(ranks=3, size_bytes=0)).messages == 5
    assert hocket.verify(changing_its_mind, [3]).ok
    assert len(hocket.run(changing_its_mind, [np.arange(0)] * 3)) == 3


def test_spans_are_sliced_as_sequences() -> None:
    elements, seen = range(7), []
    slices = [slice(2, 5), slice(None, 3), slice(-2, None), slice(5, 2), slice(4, 99), slice(-99, 1), slice(None)]

    @hocket.algorithm("broadcast")
    def sliced(r: Rank, c: Call) -> Steps:
        yield r.join()
        seen.extend(str(c.result(r)[each]) for each in slices)
        seen.extend(str(c.result(r).part(elements[each].start, len(elements[each]))) for each in slices)

    hocket.record(sliced, hocket.Call(ranks=1, size_bytes=7))
    assert seen[: len(slices)] == seen[len(slices) :] and len(seen) == 2 * len(slices)
