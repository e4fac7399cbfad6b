"""GOAL as text: the format of files that no other format recognises."""

from hocket.schedules.formats.native import native

FORMAT = native("goal", ending=".goal", is_text=True, begins=lambda _: True, lacks="GOAL has no data")
