"""Pages at addresses that chapters had before: each leads to where the page is now."""

from html import escape
from pathlib import Path

_PAGES = {  # a page, by the name that it had before
    "04_fedlaw_figure_by_figure": "fedlaw_figure_by_figure",
    "04_shrinking_the_average": "05_shrinking_the_average",
    "04_when_clinics_are_wrong": "when_clinics_are_wrong",
    "05_a_lost_correction": "a_lost_correction",
    "05_noise_that_hides_nothing": "noise_that_hides_nothing",
    "05_pulling_features_together": "06_pulling_features_together",
    "06_features_from_a_shared_distribution": "07_features_from_a_shared_distribution",
    "06_what_a_mean_betrays": "what_a_mean_betrays",
    "07_who_should_train_together": "04_who_should_train_together",
}
MOVED = {f"notebooks/{a}.html": f"notebooks/{b}.html" for a, b in _PAGES.items()}


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
