"""Pages below a chapter have its number and a letter."""

from tools.numbers import lettered


def test_pages_below_a_chapter_have_letters():
    below = {"index": ["one", "two"], "two": ["wrong", "figures"], "api": ["api_data"]}
    numbers = {"one": {"": (1,)}, "two": {"": (2,)}, "wrong": {"": (2, 9)}}
    assert lettered(below, numbers) == {"wrong": "2a", "figures": "2b"}
