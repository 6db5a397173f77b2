"""The paper's own numbers beside chapter 4's: as printed, and judged."""

import pandas as pd

from fedlab_book.chapters.shrinking import beside


def test_the_papers_gains_are_differences(tmp_path):
    table = tmp_path / "paper.csv"
    table.write_text(
        "part,arm,split,where,without,with_\nx,A,s,T1,60,62\nx,A,s,T2,60,59\n"
    )
    assert beside.printed(str(table)) == {("x", "s"): {"A": [2.0, -1.0]}}


def test_the_table_in_words_counts_what_goes_otherwise():
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
    assert told.startswith("The paper's claims in our setting: of 4, 2 go its way;")
    assert told.endswith("of 1 we cannot tell; 1 goes otherwise: d.")
    frame = pd.DataFrame({"comparison": ["a"], "can we tell?": said[:1]})
    assert beside.in_words(frame).endswith("of 0 we cannot tell.")
