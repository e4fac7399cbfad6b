"""Scenes: who calls when, how often, and over which links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from hocket import _native
from hocket._native import Error
from hocket.base import checks
from hocket.base.checks import hint, quote
from hocket.base.files import key_lines, parse_toml, read_text
from hocket.base.kinds import expecting
from hocket.simulating.arrivals import Arrivals, as_arrivals, read_arrivals
from hocket.simulating.faults import Faults, as_faults, read_faults

SceneLike: TypeAlias = "Scene | str | PathLike[str]"
"""A scene, or the path of a scene file."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """When the ranks begin a call, how often they call, and which links are slow or down: a file beside the machine.

    Attributes:
        arrivals: When the ranks begin the call; by default, at the same time.
        cadence: When the ranks begin each of several calls, such as "16 calls, every 100 us, 2 at a time"; by default
            they make one call.
        faults: Links that are slow or down for a time; by default, none is.
    """

    arrivals: Arrivals | None = None
    cadence: str | None = None
    faults: Faults | None = None

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Scene:
        """Read a scene file.

        Raises:
            Error: The file does not describe a scene: file, line and key.
        """
        with expecting(path, "scene", "a scene file"):
            return cls.parse(read_text(checks.path("scene", path)), fspath(path))

    @classmethod
    def parse(cls, text: str, file: str = "scene") -> Scene:
        """Read the text of a scene file; other files that it names are relative to the folder of `file`.

        Raises:
            Error: The text does not describe a scene: file, line and key.
        """
        file = checks.text("file", file)
        values, lines = parse_toml(checks.text("text", text), file), key_lines(text)
        starts: dict[str, Any] = {}
        for key, value in values.items():
            place = f"{file}:{lines.get(key, 1)}: {key}"
            if key not in _KEYS:
                raise Error(f"{place}: unknown key, {hint(key, _KEYS)}")
            with checks.within(place):
                starts[key] = _KEYS[key](value, Path(file).parent)
        return cls(**starts)

    @property
    def parts(self) -> dict[str, Any]:
        """What the scene says, by the names of its attributes."""
        return {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) is not None}

    @property
    def starts(self) -> dict[str, Any]:
        """What it says of when the ranks begin calls: nothing if they begin one call at the same time."""
        return {name: value for name, value in self.parts.items() if name != "faults"}

    @property
    def texts(self) -> dict[str, Any]:
        """What the scene says, in the form of results: texts with single spaces, and times of ranks as numbers.

        Raises:
            Error: A part is neither a text nor numbers.
        """
        cadence = None if self.cadence is None else " ".join(checks.text("cadence", self.cadence).split())
        return {"arrivals": as_arrivals(self.arrivals), "cadence": cadence, "faults": as_faults(self.faults)}

    @property
    def handle(self) -> _native.Scene:
        """The scene as an object of the compiled module.

        Raises:
            Error: A part is not understood.
        """
        return _native.Scene(**self.texts)

    @property
    def is_drawn(self) -> bool:
        """Whether trials differ although the machine has no noise.

        Raises:
            Error: A part is not understood.
        """
        return self.arrivals is not None and self.handle.is_drawn

    def exclusion(self, measured_as: str) -> tuple[str, str] | None:
        """Return which argument is excluded, and by which part of the scene; None if all fit together.

        A benchmark has its own arrivals and calls, and repeated calls have no arrivals.
        """
        starts = list(self.starts)
        if starts and measured_as != "isolated":
            return "measured_as", starts[0]
        return (starts[1], starts[0]) if len(starts) > 1 else None

    def with_parts(self, **changes: Any) -> Scene:
        """Return the scene with more parts; None is no part.

        Raises:
            Error: The scene says the same.
        """
        new = {name: value for name, value in changes.items() if value is not None}
        for name, value in new.items():
            if name in self.parts:
                theirs = quote(self.parts[name])
                raise Error(f"{name}: got {quote(value)}, expected none, as the scene has {theirs}")
        return replace(self, **new)

    def as_request(self, measured_as: str) -> dict[str, Any]:
        """Return the scene in the form of the compiled module.

        Raises:
            Error: It is not understood, or its parts exclude each other.
        """
        if (exclusion := self.exclusion(measured_as)) is not None:
            name, other = exclusion
            reason = {"arrivals": "arrivals are", "cadence": "a cadence is"}[other]
            got, expected = (measured_as, "'isolated'") if name == "measured_as" else (self.parts[name], "none")
            raise Error(f"{name}: got {quote(got)}, expected {expected}, as {reason} given")
        return {"measured_as": measured_as, "scene": self.handle if self.parts else None}


NO_SCENE = Scene()  # one call that all ranks begin at the same time


def as_scene(scene: SceneLike | None) -> Scene:
    """Return a scene; a path is loaded, and all else is refused."""
    if scene is None:
        return NO_SCENE
    return scene if isinstance(scene, Scene) else Scene.load(scene)


def read_cadence(text: str) -> str:
    """Return the text of a cadence, or refuse it."""
    words = " ".join(text.split())
    try:
        _native.Scene(cadence=words)
    except Error as error:
        raise Error(str(error).removeprefix("cadence: ")) from None
    return words


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Error(f"got {quote(value)}, expected a text in quotes")
    return value


def _arrivals(value: Any, folder: Path) -> Arrivals:
    path = _text(value)
    return read_arrivals(str(folder / path) if path.endswith(".csv") else path)


def _faults(value: Any, _: Path) -> Faults:
    return [fault for text in (value if isinstance(value, list) else [value]) for fault in read_faults(_text(text))]


_KEYS: dict[str, Callable[[Any, Path], Any]] = {
    "arrivals": _arrivals,
    "cadence": lambda value, _: read_cadence(_text(value)),
    "faults": _faults,
}
"""The function that reads each key of a scene file; files are relative to a folder."""
