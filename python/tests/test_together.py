"""Several jobs at once, from Python and from the command line."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hocket
from hocket import _native
from hocket.simulating.jobs import Job
from hocket.simulating.together import Place, places
from tests.conftest import Ran

LINE = 'name = "line"\n[network]\nmodel = "links"\ntopology = "mesh"\ndims = [4]\nlink_bandwidth = "1 GB/s"\n'
RINGS = ["allreduce ring 1000B, 2 ranks, nodes 0 2", "allreduce ring 1000B, 2 ranks, nodes 1 3"]


def test_two_rings_that_share_a_link_share_its_time() -> None:
    found = hocket.simulate_together(RINGS, machine=hocket.Machine.parse(LINE + 'sharing = "fair"\n'))
    for job in found.jobs:
        # Each exchanges 2 * 500 B over the middle link, at half the rate; other links are as long.
        assert (job.alone_s.mean, job.time_s.mean) == pytest.approx((1e-6, 2e-6))
        assert job.slowdown.mean == pytest.approx(2)
    assert found.shared_links is not None
    assert [one.job_bytes for one in found.shared_links] == [(1000, 1000)] * 2
    assert {one.busy_s for one in found.shared_links} == {2e-6}
    assert (found.messages, found.trials, found.place) == (8, 1, "contiguous")


def test_jobs_without_a_common_link_do_not_meet(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    machine = tmp_path / "line.toml"
    machine.write_text(LINE)
    jobs = ["allreduce ring 1000B, 2 ranks", "allreduce ring 1000B, 2 ranks"]
    found = hocket.simulate_together(jobs, machine=machine)
    assert [job.slowdown.mean for job in found.jobs] == [1, 1]
    assert found.shared_links == ()
    assert "no link has bytes of two calls" in hocket_command("together", *jobs, "--machine", machine).out
    assert hocket.simulate_together(jobs).shared_links is None
    assert "messages do not share links" in hocket_command("together", *jobs).out


@pytest.mark.parametrize("place", ["contiguous", "scattered", "random"])
def test_places_are_those_of_the_first_trial(place: Place) -> None:
    machine = hocket.Machine.parse(LINE.replace("[4]", "[8]"))
    texts = ["allreduce ring 1000B, 3 ranks", "alltoall pairwise_exchange 2000B, 3 ranks"]
    seen = set()
    for seed in range(4):
        where = places(map(Job.parse, texts), machine=machine, place=place, seed=seed)
        found = hocket.simulate_together(texts, machine=machine, place=place, trials=hocket.Trials(1, seed))
        named = [f"{text}, nodes {' '.join(map(str, nodes))}" for text, nodes in zip(texts, where, strict=True)]
        alike = hocket.simulate_together(named, machine=machine)
        assert [job.times_s for job in found.jobs] == [job.times_s for job in alike.jobs]
        seen.add(tuple(job.times_s for job in found.jobs))
    assert len(seen) > 1 or place != "random", "places of another seed take another time"


def test_a_job_alone_is_a_call() -> None:
    call = hocket.Call(ranks=4, size_bytes=4096, element_bytes=1)
    for machine in ("cluster", hocket.Machine.parse(LINE)):
        found = hocket.simulate_together(["allreduce ring 4KiB, 4 ranks"], machine=machine)
        assert found.jobs[0].time_s.mean == hocket.simulate("allreduce/ring", call, machine=machine).time_s.mean
    five = hocket.simulate_together(["allreduce ring 4KiB, 4 ranks, 5 calls"], machine="cluster").jobs[0]
    assert five.time_s.mean == pytest.approx(5 * hocket.simulate("allreduce/ring", call).time_s.mean)


def test_rows_and_columns_are_calls_of_one_grid() -> None:
    machine = hocket.Machine.parse(LINE.replace("[4]", "[2, 4]"))
    rows, columns = (Job.parse(f"allreduce ring 1KiB, {split} of 4x2").members for split in ("rows", "columns"))
    assert rows == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert columns == [[0, 2, 4, 6], [1, 3, 5, 7]]
    # A row of two ranks has a link for itself. A column of four ranks has its own links, too.
    for split in ("rows", "columns"):
        found = hocket.simulate_together([f"allreduce ring 1KiB, {split} of 4x2"], machine=machine)
        assert (found.jobs[0].ranks, found.jobs[0].slowdown.mean, found.shared_links) == (8, 1, ())


def test_random_places_are_trials(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    machine = tmp_path / "line.toml"
    machine.write_text(LINE.replace("[4]", "[9]"))
    jobs = ["allreduce ring 1000B, 3 ranks", "alltoall pairwise_exchange 500B, 4 ranks"]
    one, two = (
        hocket.simulate_together(
            jobs, machine=machine, place="random", trials=hocket.Trials(6, seed=4, threads=threads, first=first)
        )
        for threads, first in ((1, 0), (2, 2))
    )
    assert one.trials == 6 and one.jobs[0].times_s[2:] == two.jobs[0].times_s[:4]
    assert len(set(one.jobs[0].times_s)) > 1
    told = hocket_command(
        "together", *jobs, "--machine", machine, *["--place", "random", "--trials", "6", "--seed", "4", "--json"]
    ).json
    assert told == json.loads(json.dumps(one.as_dict()))
    said = hocket_command(
        "together", *jobs, "--machine", machine, *["--place", "random", "--trials", "6", "--seed", "4"]
    ).out
    assert "means of 6 trials, seed 4" in said and "links with bytes of two calls or more, in the first trial" in said
    assert one.records()[1]["slowdown_mean"] == one.jobs[1].slowdown.mean


def test_algorithms_in_python_are_jobs(hocket_command: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "import hocket\n"
        '@hocket.algorithm("broadcast")\n'
        "def own(r, c):\n"
        '    """Own: the root sends to all."""\n'
        "    if r.rank == 0:\n"
        "        for rank in range(1, r.size):\n"
        "            yield r.send(rank, c.result(r))\n"
        "    else:\n"
        "        yield r.recv(0, c.result(r))\n"
    )
    jobs = ["broadcast own 1KiB, 3 ranks", "broadcast linear 1KiB, 3 ranks"]
    found = hocket_command("together", *jobs, "--load", file, "--json").json
    assert found["jobs"][0]["time_s"] == found["jobs"][1]["time_s"]
    file.write_text(file.read_text().replace("range(1, r.size)", "1 / 0"))
    failed = hocket_command("together", *jobs, "--load", file)
    assert failed.status == 2 and "own.py:6" in failed.err and "division by zero" in failed.err


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        (["allreduce"], "expected COLLECTIVE ALGORITHM SIZE, P ranks"),
        ([""], "expected COLLECTIVE ALGORITHM SIZE, P ranks"),
        (["allreduce rng 1MiB, 2 ranks"], 'unknown allreduce algorithm "rng", did you mean ring?'),
        (["allreduce ring, 2 ranks"], "expected a size after ring"),
        (["allreduce ring 1MB2, 2 ranks"], "1MB2"),
        (["allreduce ring 1MiB"], "expected ranks once"),
        (["allreduce ring 1MiB, 2 ranks, rows of 2x2"], "expected ranks once"),
        (["allreduce ring 1MiB, rows of 0x2"], "got 0 ranks, expected 1 to 1048576"),
        (["allreduce ring 1MiB, rows of 9999x9999"], "got 99980001 ranks, expected 1 to 1048576"),
        (["allreduce ring 1MiB, 2 ranks, nodes 1, nodes 2"], "expected nodes once"),
        (["allreduce ring 1MiB, 2 ranks, nodes 3-1"], "got 3-1, expected a range"),
        (["allreduce ring 1MiB, 2 ranks, 3 cals"], 'got "3 cals", expected a number of calls'),
        (["allreduce ring 1MiB segment, 2 ranks"], "segment"),
        (["allreduce ring 1MiB x=2, 2 ranks"], 'unknown parameter "x"'),
        (["allreduce ring 1MiB, 5 ranks"], "ranks: got 5, expected at most 4"),
        (["allreduce ring 1MiB, 2 ranks, nodes 3 4"], "nodes: got 4, expected nodes 0 to 3"),
        (["allreduce ring 1MiB, 2 ranks, nodes 3"], "nodes: got nodes for 1 rank, expected room for 2"),
        (
            ["allreduce ring 1MiB, 2 ranks, nodes 2 3", "barrier dissemination, 1 rank, node 3"],
            "nodes: got node 3 twice",
        ),
        (["allreduce recursive_doubling 1MiB, 1 rank", "scan hillis_steele 3B, 2 ranks, 0 calls"], "1 to 10000 calls"),
        (["alltoall pairwise_exchange 1MiB gap=1, 2 ranks"], "gap: expected none"),
        ([], "jobs: got none"),
        ("allreduce ring 1MiB, 2 ranks", "expected a list of texts"),
        ([3], "jobs: got 3, expected texts"),
    ],
)
def test_wrong_jobs_are_one_line(jobs: list[str], expected: str) -> None:
    with pytest.raises(hocket.Error) as refused:
        hocket.simulate_together(jobs, machine=hocket.Machine.parse(LINE))
    assert expected in str(refused.value) and "\n" not in str(refused.value)


def test_trials_that_are_alike_are_refused(hocket_command: Callable[..., Ran]) -> None:
    job = ["barrier dissemination, 2 ranks"]
    with pytest.raises(hocket.Error, match="got 2, expected 1, as neither places nor noise are drawn"):
        hocket.simulate_together(job, trials=hocket.Trials(2))
    with pytest.raises(hocket.Error, match="until_interval: got '1%'"):
        hocket.simulate_together(job, place="random", trials=hocket.Trials(2, until_interval="1%"))
    with pytest.raises(hocket.Error, match="place: got 'near', expected one of"):
        hocket.simulate_together(job, place="near")  # type: ignore[arg-type]
    assert hocket_command("together", *job, "--trials", "2").status == 2
    assert hocket_command("together").status == 2
    noisy = hocket.simulate_together(["allreduce ring 8KiB, 64 ranks"], machine="jitter-paper", trials=hocket.Trials(3))
    assert len(set(noisy.jobs[0].times_s)) == 3


@given(
    st.text()
    | st.from_regex(
        r"(allreduce|barrier) (ring|dissemination)( \d{0,3}[kKM]?i?B)?"
        r"(, (\d{0,2} ranks?|(rows|columns) of \d?x\d?|nodes? \d?(-\d)?|2 calls)){0,3}",
        fullmatch=True,
    )
)
def test_any_text_is_a_job_or_refused(text: str) -> None:
    try:
        job = Job.parse(text)
    except hocket.Error as error:
        assert str(error).startswith('job "') and "\n" not in str(error)
    else:
        assert sorted(rank for group in job.members for rank in group) == list(range(job.ranks))
        assert {len(group) for group in job.members} == {job.call.ranks}
        assert Job.parse(job.text) == job


def test_a_result_is_made_of_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    ask = _native.simulate_together
    monkeypatch.setattr(_native, "simulate_together", lambda *given: answers.append(ask(*given)) or answers[-1])
    hocket.simulate_together(RINGS, machine=hocket.Machine.parse(LINE))
    (shared_link, _) = answers[0]["shared_links"]
    assert shared_link.keys() == {field.name for field in fields(hocket.SharedLink)}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["allgather recursive_doubling 1MiB, 6 ranks"], "allgather recursive_doubling needs a power of two of ranks"),
        (["allreduce ring 1MiB, 4 ranks, nodes 0-3"], "nodes: expected none, as machine cluster has no topology"),
    ],
)
def test_what_is_refused_is_not_announced(
    bad_input: Callable[..., str], monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.setattr("hocket.cli.effort._LONG_S", 0.0)
    assert bad_input("together", *words).startswith(message)
