"""GOAL in binary form."""

from hocket.schedules.formats.native import native

_MAGIC = (4223).to_bytes(8, "little")

FORMAT = native(
    "goal_binary",
    ending=".bin",
    is_text=False,
    begins=lambda first: first.startswith(_MAGIC),
    lacks="GOAL has no data",
)
