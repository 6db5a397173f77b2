"""The paper's own numbers beside chapter 4's: as printed, and judged."""

import pandas as pd

from fedlab_book.chapters.shrinking import beside


def test_the_papers_gains_are_differences(tmp_path):
    table = tmp_path / "paper.csv"
    table.write_text(
        "part,arm,split,where,without,with_\nx,A,s,T1,60,62\nx,A,s,T2,60,59\n"
    )
    assert beside.printed(str(table)) == {("x", "s"): {"A": [2.0, -1.0]}}


def test_the_table_in_words_counts_what_goes_where():
    said = [
        "same direction",
        "same direction (theirs: 2 of 3)",
        "undecided",
        "opposite (theirs: 2 of 3)",
    ]
    told = beside.in_words(
        pd.DataFrame(
            {"comparison": ["a", "b", "c", "d (points)"], "can we tell?": said}
        )
    )
    assert told.endswith("2 go the same way, 1 are undecided, 1 go the other way.")
