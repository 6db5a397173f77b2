"""Predict first: the rest of the section opens once the reader has chosen an answer.

    predict(
        "What happens to the accuracy?",
        {
            "It falls": "Training goes on, and pulls the parameters back.",
            "It rises": "Where clients are alike. Look at the left panel.",
        },
        right="It rises",
    )

The page's script closes what follows, so that without script, in print, and in a
notebook, everything is open; so it is for who only wants to read, and says so once. An
answer is chosen by click or key, and its own line appears.
"""

import itertools
from collections.abc import Mapping

from IPython.display import HTML

from fedlab_book.html import macros
from fedlab_core.errors import require

_numbers = itertools.count()
_ELSEWHERE = "So say these runs. The reasons were written for others; read the table."


def predict(
    question: str, answers: Mapping[str, str], right: str, written: str | None = None
) -> HTML:
    """A question with its answers, each with the line that is told to who chose it.

    `right` is the answer that the runs give; it can be computed from them. The lines
    are reasons for `written`, if it is named: where runs give another answer, as they
    may on other data, the lines give way to one that says so.
    """
    require(len(answers) > 1, "a prediction needs two answers to choose from")
    known = ", ".join(answers)
    for name, answer in (("right", right), ("written", written or right)):
        require(answer in answers, f"{name}={answer!r}: choose from {known}")
    silent = [answer for answer, line in answers.items() if not line.strip()]
    require(not silent, f"no line is told to who chose {', '.join(silent)}")
    if written not in (None, right):
        answers = dict.fromkeys(answers, _ELSEWHERE)
    name = f"fl-guess-{next(_numbers)}"
    return HTML(str(macros("pages").predict(name, question, answers, right)))
