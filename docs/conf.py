"""How Sphinx makes the pages of the documentation; `make docs` runs it."""

from __future__ import annotations

import sys
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.util.nodes import find_pending_xref_condition

import lsat_explorer

# The names under which the modules are offered; autodoc looks for a module where a name is.
for public in ("datasets", "graphs", "recipes"):
    sys.modules.setdefault(f"lsat_explorer.{public}", getattr(lsat_explorer, public))

project = "lsat_explorer"
author = "lsat_explorer developers"
project_copyright = author
release = version = lsat_explorer.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
myst_enable_extensions = ["html_image"]
templates_path = ["_templates"]
exclude_patterns = ["_templates", "gallery"]
default_role = "py:obj"
suppress_warnings = ["myst.header", "myst.xref_missing"]

# Pages are for readers of a name: its own members in the order of the source, types short.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_mock_imports = ["jax", "tensorflow"]  # the interop modules are described without their frameworks
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
autosummary_generate = True
autosummary_ignore_module_all = False
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"lsat_explorer {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}


def plain_words(app: Any, doctree: nodes.document) -> None:
    """Leave the words of a type as they are: in ``array of shape (k, n)`` "shape" is no attribute of a class."""
    for node in list(doctree.findall(addnodes.pending_xref)):
        if node.get("refspecific") and node["reftarget"].islower() and "." not in node["reftarget"]:
            unresolved = find_pending_xref_condition(node, "*")
            node.replace_self((node if unresolved is None else unresolved).children)


def setup(app: Any) -> None:
    """Add what Sphinx has no option for."""
    app.connect("doctree-read", plain_words)
