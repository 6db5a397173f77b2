"""Chapters that keep to the recipe of CHAPTERS, and the numbers that it promises."""

import re
from pathlib import Path

THIN = [
    "01_averaging",
    "02_is_size_the_right_weight",
    "03_where_the_weights_come_from",
    "04_who_should_train_together",
    "05_shrinking_the_average",
    "06_pulling_features_together",
    "07_features_from_a_shared_distribution",
]

RECIPE = (Path(__file__).parents[1] / "CHAPTERS.md").read_text()
# {what is counted: how many there may be}, as the recipe's table has it
MOST = {
    what: int(most.replace(",", ""))
    for what, most in re.findall(r"^\| ([a-zA-Z ]+) \| ([\d,]+) \|", RECIPE, re.M)
}
