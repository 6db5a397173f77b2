"""A method as programs that run without PyTorch.

A third engine in spirit: the same rules, traced from the code that the other two run,
so that another language can follow them to the last digits.

- `trace_method.trace`: everything of a method, for a world and so many members of a
  group; `client`: a client's round; `learning`: a server that learns, step by step, and
  `fedlaw`, which does;
- `function`: a function as a program, by `graph` and `compiler`, checked by `reader`;
  `draws`: its random numbers, handed in;
- `program`: the record that a program is.
"""

from fedlab_browser.tracing.client import ClientPrograms, client_programs
from fedlab_browser.tracing.fedlaw import LawInSteps
from fedlab_browser.tracing.function import program_of
from fedlab_browser.tracing.learning import Learning, in_steps
from fedlab_browser.tracing.program import Program
from fedlab_browser.tracing.reader import Reader
from fedlab_browser.tracing.trace_method import MethodPrograms, trace
