"""Configuration of Sphinx."""

from hocket import __version__

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
