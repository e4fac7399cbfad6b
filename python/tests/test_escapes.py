"""Messages that quote a text of the user: its control characters are escaped, whoever makes the message."""

from collections.abc import Callable
from pathlib import Path

import pytest

import hocket
from hocket.definitions.machine import Machine
from hocket.simulating.sweeps.grid import Grid

EVIL = "a\x1b[31m\nb\x07\x9b"
CALL = hocket.Call(ranks=4, size_bytes=8)

DOORS: dict[str, Callable[[Path], object]] = {
    "machine": lambda _: hocket.simulate("allreduce/ring", CALL, machine=EVIL),
    "algorithm": lambda _: hocket.find(f"allreduce/{EVIL}"),
    "collective": lambda _: hocket.algorithms(EVIL),
    "algorithm to verify": lambda _: hocket.verify(EVIL, [2]),
    "ranks": lambda _: hocket.verify("allreduce/ring", EVIL),
    "parameter": lambda _: hocket.verify("allreduce/ring", [2], parameters={EVIL: 1}),
    "value of a parameter": lambda _: hocket.verify("broadcast/chain", [2], parameters={"segment": EVIL}),
    "parameter of a call": lambda _: hocket.simulate(
        "allreduce/ring", hocket.Call(ranks=4, size_bytes=8, parameters={EVIL: 1}), machine="cluster"
    ),
    "size": lambda _: hocket.compare("allreduce", ranks=4, sizes=EVIL, machine="cluster"),
    "neighbors": lambda _: hocket.simulate(
        "neighbor_alltoall/linear", hocket.Call(ranks=4, size_bytes=8, neighbors=EVIL), machine="cluster"
    ),
    "file of a program": lambda folder: hocket.load(folder / f"{EVIL}.py"),
    "file of a machine": lambda folder: Machine.load(folder / f"{EVIL}.toml"),
    "file of a grid": lambda folder: Grid.load(folder / f"{EVIL}.toml"),
    "collective of a program": lambda _: hocket.algorithm(EVIL),
    "message": lambda _: (_ for _ in ()).throw(hocket.Error(EVIL)),
    "key of a machine": lambda folder: _machine(
        folder, f'model = "hockney"\nlatency = "1 us"\nbandwidth = "1 GB/s"\nprotocol = "eager"\n"{_toml(EVIL)}" = 1'
    ),
    "model of a machine": lambda folder: _machine(folder, f'model = "{_toml(EVIL)}"'),
}


def _toml(text: str) -> str:
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)


def _machine(folder: Path, line: str) -> object:
    file = folder / "m.toml"
    file.write_text(f'name = "m"\n[network]\n{line}\n')
    return Machine.load(file)


@pytest.mark.parametrize("door", DOORS)
def test_control_characters_of_names_are_escaped(door: str, tmp_path: Path) -> None:
    with pytest.raises(hocket.Error) as refusal:
        DOORS[door](tmp_path)
    message = str(refusal.value)
    assert message.isprintable(), repr(message)
    assert "a\\u001b[31m" in message or "a\\x1b[31m" in message or "a\\u{1b}[31m" in message
