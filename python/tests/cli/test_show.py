"""`hocket show`."""

from collections.abc import Callable

import pytest

import hocket
from hocket.examples import ring_allreduce
from tests.conftest import Ran


@pytest.mark.parametrize("names", ["allreduce ring", "allreduce/ring"])
def test_an_algorithm_is_shown_with_all_that_is_known(hocket_command: Callable[..., Ran], names: str) -> None:
    out = hocket_command(f"show {names}").out
    algorithm = hocket.find("allreduce/ring")
    assert out.startswith("allreduce/ring\n")
    for part in ("Source: ", "Needs: ", str(algorithm.cost), str(algorithm.messages), "pub async fn program", "→1 ←7"):
        assert part in out
    assert "```" not in out


@pytest.mark.parametrize("algorithm", hocket.catalogue(), ids=lambda a: a.label)
def test_every_algorithm_can_be_shown(hocket_command: Callable[..., Ran], algorithm: hocket.Algorithm) -> None:
    ran = hocket_command(f"show {algorithm.label}")
    assert ran.status == 0
    assert "no picture" not in ran.out
    for parameter in algorithm.parameters:
        assert parameter.name in ran.out


def test_json_has_what_other_programs_need(hocket_command: Callable[..., Ran]) -> None:
    shown = hocket_command("show allreduce ring --ranks 4 --json").json
    assert shown["picture"]["ranks"] == 4
    assert len(shown["picture"]["text"].splitlines()) == 5
    assert shown.keys() == {
        "collective",
        "name",
        "summary",
        "header",
        "cost",
        "messages",
        "order",
        "parameters",
        "listing",
        "picture",
    }


def test_an_algorithm_written_in_python_is_shown_alike(hocket_command: Callable[..., Ran]) -> None:
    out = hocket_command("show chunked_ring --ranks 4 --load", ring_allreduce.__file__).out
    for part in (
        "allreduce/chunked_ring",
        "Source: P. Patarasuk, X. Yuan",
        "2*(P-1)*alpha",
        "def chunked_ring(r",
        "→1 ←3",
    ):
        assert part in out


@pytest.mark.parametrize("collective", hocket.definitions.library.COLLECTIVES)
def test_a_collective_is_shown_with_its_arguments_and_algorithms(
    hocket_command: Callable[..., Ran], collective: str
) -> None:
    out = hocket_command(f"show {collective}").out
    shown = hocket_command(f"show {collective} --json").json
    names = [algorithm.name for algorithm in hocket.algorithms(collective)]
    assert [entry["name"] for entry in shown["algorithms"]] == names
    for part in (collective, shown["meaning"], *shown["arguments"], *names):
        assert part in out
    assert ("--root" in shown["arguments"]) == (collective.rstrip("v") in ("broadcast", "gather", "reduce", "scatter"))
