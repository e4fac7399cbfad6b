"""`hocket list`."""

from collections.abc import Callable

import hocket
from tests.conftest import Ran


def test_every_algorithm_is_listed(hocket_command: Callable[..., Ran]) -> None:
    ran = hocket_command("list")
    rows = ran.out.splitlines()[2:]
    assert [tuple(row.split()[:2]) for row in rows] == [(a.collective, a.name) for a in hocket.catalogue()]


def test_json_has_what_other_programs_need(hocket_command: Callable[..., Ran]) -> None:
    assert hocket_command("list bcast").out == hocket_command("list broadcast").out
    entries = hocket_command("list allreduce --json").json
    assert {entry["collective"] for entry in entries} == {"allreduce"}
    assert all(entry.keys() == {"collective", "name", "summary", "cost", "messages", "parameters"} for entry in entries)
