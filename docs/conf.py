"""Configuration of Sphinx."""

import re

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from hocket import __version__
from hocket.cli.app import hocket

project = "Hocket"
author = "The Hocket project"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# What pages include is no page of its own.
exclude_patterns = ["_build", "images/**/*.md"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
default_role = "code"
toc_object_entries = False

html_theme = "furo"
html_title = f"Hocket {version}"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["hocket.css"]


class Options(SphinxDirective):
    """The options of a command as its help describes them; the content is `hocket mpi run --help`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Give a list of the options."""
        _, *names, _ = self.content[0].split()
        command: click.Command = hocket
        for name in names:
            command = command.load(name)
        context = click.Context(command, **hocket.context_settings)
        options = [each for each in command.params if isinstance(each, click.Option)]
        return [nodes.definition_list("", *(self.item(*each.get_help_record(context)) for each in options))]

    def item(self, names: str, text: str) -> nodes.definition_list_item:
        """Give an option; in its text, other options and quoted examples are code."""
        text = re.sub(r"(?<![`\w])(--[a-z][a-z-]*|'[^']+')", r"`\1`", text)
        content, messages = self.parse_inline(text)
        definition = nodes.definition("", nodes.paragraph("", "", *content, *messages))
        return nodes.definition_list_item("", nodes.term("", "", nodes.literal("", names)), definition)


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("options", Options)
