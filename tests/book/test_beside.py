"""The paper's own numbers beside chapter 4's: as printed, and judged."""

from fedlab_book.chapters.shrinking import beside


def test_the_papers_gains_are_differences(tmp_path):
    table = tmp_path / "paper.csv"
    table.write_text(
        "part,arm,split,where,without,with_\nx,A,s,T1,60,62\nx,A,s,T2,60,59\n"
    )
    assert beside.printed(str(table)) == {("x", "s"): {"A": [2.0, -1.0]}}
