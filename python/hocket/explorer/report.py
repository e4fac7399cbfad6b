"""A report: all views of a question in one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from hocket.base.units import format_ranks
from hocket.base.version import VERSION, commit
from hocket.explorer.page_files import page_file, vega
from hocket.explorer.questions import Question
from hocket.explorer.reproducing import scene_texts
from hocket.words.comparisons import trials_words


def report(question: Question, sections: Sequence[Mapping[str, Any]]) -> str:
    """Return the report as the text of an HTML file, with these sections, such as `views.sections` returns."""
    machine = question.machine
    facts = [
        ("ranks", format_ranks(question.ranks)),
        ("machine", machine.parameters),
        *([("beside", question.other_machine.parameters)] if question.other_machine else []),
        *scene_texts(question.scene),
        *([("trials", trials_words(question.trials))] if question.is_random else []),
        *([("parameters", ", ".join(map("=".join, question.parameters)))] if question.parameters else []),
        ("made by", f"Hocket {VERSION} (commit {commit()})"),
    ]
    machines = [one.text for one in (machine, question.other_machine) if one is not None]
    title = f"{question.collective} on machine {machine.name}"
    data = {"title": title, "facts": facts, "machines": machines, "sections": sections}
    script = "\n".join([vega(), page_file("view.js"), page_file("report.js")])
    style = page_file("style.css")
    # The page allows only its own scripts.
    policy = f"default-src 'none'; img-src data: blob:; script-src {_hash(script)}; style-src {_hash(style)}"
    return Template(page_file("report.html")).substitute(
        policy=policy,
        title=html.escape(title),
        style=style,
        data=json.dumps(data).replace("<", "\\u003c"),
        script=script,
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
