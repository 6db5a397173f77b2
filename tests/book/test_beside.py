"""The paper's own numbers beside chapter 4's: as printed, and judged."""

import pandas as pd

from fedlab_book.chapters.shrinking import beside
from fedlab_book.quoted import fedlaw


def test_the_papers_gains_are_differences(monkeypatch):
    names = pd.Index(["part", "arm", "split", "where", "without", "with_"])
    rows = [("x", "A", "s", "T1", 60, 62), ("x", "A", "s", "T2", 60, 59)]
    monkeypatch.setattr(fedlaw, "chapter", lambda: pd.DataFrame(rows, columns=names))
    assert beside.printed() == {("x", "s"): {"A": [2.0, -1.0]}}
