"""Chapters that keep to the recipe of CHAPTERS, and the numbers that it promises."""

import re
from pathlib import Path

THIN = ["03_where_the_weights_come_from", "04_shrinking_the_average"]

RECIPE = (Path(__file__).parents[1] / "CHAPTERS.md").read_text()
# {what is counted: how many there may be}, as the recipe's table has it
MOST = {
    what: int(most.replace(",", ""))
    for what, most in re.findall(r"^\| ([a-zA-Z ]+) \| ([\d,]+) \|", RECIPE, re.M)
}
# Chapters that are one story are held to less.
STORY = {"words on view": 2500, "findings": 3, "lines of the algorithm": 20}
STORIES = ["03_where_the_weights_come_from"]


def most(name: str, what: str) -> int:
    """How many of something a chapter may have."""
    return (MOST | (STORY if name in STORIES else {}))[what]
