"""Display of a notebook's cells on its page, beyond their tags.

A solution is folded under its name, and so are runs that a text has told. The ledger's
pages are tables: the calls that make them say nothing to their readers, and are left to
the notebook.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

TABLES_ONLY = re.compile(r"ledger|\w+_figure_by_figure$")  # names of such pages
_PARAMETERS = "tag_parameters"
_NAMED = {"tag_solution": "the solution", "tag_runs": "how this is run"}


def shows_code(page: str) -> bool:
    return not TABLES_ONLY.match(page.rsplit("/", 1)[-1])


def arrange(doctree: nodes.document, page: str) -> None:
    """Name the folds of a page, and leave out the code of a page of tables."""
    code = (e for e in doctree.findall(nodes.Element) if _element(e) == "cell_code")
    for cell in list(code):
        classes = cell.attributes["classes"]
        named = next((_NAMED[c] for c in classes if c in _NAMED), "")
        if named:
            cell["prompt_show"] = f"Show {named}"
            cell["prompt_hide"] = f"Hide {named}"
        elif not shows_code(page):
            _without_code(cell)


def _without_code(cell: nodes.Element) -> None:
    code = [c for c in cell.children if _element(c) == "cell_code_source"]
    for child in code:
        cell.remove(child)
    cell["hide_mode"] = None
    unwanted = not cell.children or _PARAMETERS in cell.attributes["classes"]
    if unwanted and cell.parent is not None:
        cell.parent.remove(cell)


def _element(node: nodes.Node) -> str | None:
    return node.get("nb_element") if isinstance(node, nodes.Element) else None


def _when_read(app: Sphinx, doctree: nodes.document) -> None:
    arrange(doctree, app.env.docname)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", _when_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
