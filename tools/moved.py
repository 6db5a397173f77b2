"""Pages at addresses that chapters had before: each leads to where the page is now."""

from html import escape
from pathlib import Path

MOVED = {  # old address below the site: the page's present one
    "notebooks/04_fedlaw_figure_by_figure.html": "notebooks/fedlaw_figure_by_figure.html"
}


def write(site: Path) -> None:
    """Put a page that leads on at every old address of a built site."""
    for old, new in MOVED.items():
        if not (site / new).is_file():
            raise FileNotFoundError(f"tools/moved.py: {old} leads to {new}: not a page")
        up = "../" * old.count("/")
        (site / old).write_text(leading_to(f"{up}{new}"))


def leading_to(address: str) -> str:
    """A page that leads to an address, at once or by its link."""
    to = escape(address)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="refresh" content="0; url={to}">\n'
        f'<link rel="canonical" href="{to}">\n<meta name="robots" content="noindex">\n'
        "<title>This page has moved</title>\n</head>\n"
        f'<body><p>This page has <a href="{to}">moved</a>.</p></body>\n</html>\n'
    )
