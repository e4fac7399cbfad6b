"""GOAL as text, which files are that begin as no other format does."""

from hocket.schedules.formats.native import native

__all__ = ["FORMAT"]

FORMAT = native("goal", ending=".goal", is_text=True, begins=lambda _: True, lacks="GOAL has no data")
