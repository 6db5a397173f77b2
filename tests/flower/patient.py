"""Start a part of Flower that gives the processes it starts five minutes, not 30 s.

Such a process must be heard of in that time or is given up, and starts anew, for ever:
on a machine that is busy it takes longer to load PyTorch.
"""

import sys
from importlib import import_module
from importlib.metadata import entry_points

PATIENCE_S = 300

for kind in ("in_memory", "sql"):
    module = import_module(f"flwr.supercore.corestate.{kind}_corestate")
    assert module.HEARTBEAT_DEFAULT_INTERVAL == 30
    setattr(module, "HEARTBEAT_DEFAULT_INTERVAL", PATIENCE_S)  # noqa: B010

(command,) = entry_points(group="console_scripts", name=sys.argv[1])
sys.argv = sys.argv[1:]
sys.exit(command.load()())
