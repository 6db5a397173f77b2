"""What a method does, as programs that run without PyTorch.

A third engine in spirit: the same rules, traced from the code that the other two run,
so that another language can follow them to the last digits.

- `choices.trace`: everything of a method, for a world and so many members of a group;
- `client`: a client's round, `choices`: what a round needs besides;
- `traced`: a function as a program, by `graph` and `loops`, checked by `reader`;
- `program`: what a program is.
"""

from fedlab_core.tracing.choices import MethodPrograms, trace
from fedlab_core.tracing.client import ClientPrograms, trace_client
from fedlab_core.tracing.program import Program
from fedlab_core.tracing.reader import Reader
from fedlab_core.tracing.traced import program_of
