"""`hocket list`."""

from collections.abc import Callable

import hocket
from tests.conftest import Ran


def test_every_algorithm_is_listed(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("list")
    rows = [row for row in ran.out.splitlines()[2:] if not row.startswith("  ")]
    assert [tuple(row.split()[:2]) for row in rows] == [(a.collective, a.name) for a in hocket.catalogue()]


def test_json_has_what_other_programs_need(hocket_command: Callable[..., Ran]) -> None:
    assert hocket_command("list bcast").out == hocket_command("list broadcast").out
    entries = hocket_command("list allreduce --json").json
    assert {entry["collective"] for entry in entries} == {"allreduce"}
    assert all(
        entry.keys() == {"collective", "name", "summary", "cost", "messages", "order", "parameters"}
        for entry in entries
    )


def test_reproducible_reductions_are_listed_with_their_order(hocket_command: Callable[..., Ran]) -> None:
    rows = [row.split() for row in hocket_command("list --reproducible").out.splitlines()[2:]]
    assert ["allreduce", "rabenseifner", "recursive_doubling"] in rows
    assert {(collective, name): order for collective, name, order in rows} == {
        (each.collective, each.name): each.order for each in hocket.catalogue() if each.order
    }
    assert "order     depends on the element or the size" in hocket_command("show allreduce ring").out
    assert "order" not in hocket_command("show broadcast chain").out.split("\n\n")[1]
