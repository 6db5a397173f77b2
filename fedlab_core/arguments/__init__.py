"""Arguments that are held to signatures.

A public function or record says in its signature what it takes, as in `lr: Positive`,
and `@checked` holds every call to it: what does not fit is refused in one line with the
argument, what is allowed, and what was given. What fits is passed on as what the
signature says: a NumPy integer as an int, an int as a float, a list as a tuple.

`annotations` has what a signature can say, `validators` how a value is fitted to it,
`decorator` what holds calls to it, and `cli` the same for the command line.
"""

from fedlab_core.arguments.annotations import (
    MOST,
    Axes,
    Count,
    Device,
    Fading,
    Fraction,
    Labels,
    Measured,
    NotNegative,
    OnDevice,
    Positive,
    Ratio,
    Seed,
    Stacked,
    Whole,
    Within,
)  # fmt: skip
from fedlab_core.arguments.decorator import bare, checked, checked_when_passed
from fedlab_core.arguments.validators import held, kind_of
