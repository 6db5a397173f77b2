"""Things that several tests need, made once a process."""

from collections.abc import Callable, Iterable
from functools import cache

import pytest
from hypothesis import settings

from fedlab_ledger.report import book

the_book = cache(book.opened)  # the project's own ledger


def examples(usual: int) -> int:
    """So many examples, or fewer or more as the profile asks for them."""
    asked = settings.default.max_examples if settings.default else 40
    return max(1, usual * asked // 40)


def each(items: Iterable, say: Callable[..., str] = str) -> Callable:
    """Decorator: one test of many small items; a group of errors names those that fail.

    For items by the hundred, where a test or a subtest apiece costs more than it does.
    """
    items = list(items)

    def of(test: Callable) -> Callable[[], None]:
        def every() -> None:
            assert items
            wrong: list[BaseException] = []
            for item in items:
                try:
                    test(item)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"(of {say(item)})")
                    wrong.append(error)
            if wrong:
                raise BaseExceptionGroup(f"{len(wrong)} of {len(items)}", wrong)

        every.__name__, every.__doc__ = test.__name__, test.__doc__
        return every

    return of
