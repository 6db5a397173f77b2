"""A pytest plugin: nbval checks the copies that were executed for the site.

nbval would run every cell a second time. With `--replay-from FOLDER` its kernel is
replaced by a player of the outputs recorded in the executed copies, so what is compared
with the stored references is what the reader sees. A copy that does not belong to the
notebook as it is now fails.

    pytest -p tools.nbval_replay --nbval-lax \\
        --replay-from _build/stage/notebooks notebooks

Relies on nbval 0.11's internals: `IPyNbFile.setup` makes the kernel, and a cell asks it
for what `Player` answers. nbval's own timing and coverage options have no meaning here.
"""

from collections import deque
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
import pytest
from nbval.plugin import IPyNbFile


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--replay-from",
        type=Path,
        default=None,
        help="folder of executed copies; nbval replays them and starts no kernel",
    )


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--replay-from")
    if folder is None:
        return

    def setup(self: Any) -> None:
        self.kernel = Player(folder / Path(self.path).name)
        self.setup_sanitize_files()

    IPyNbFile.setup = setup


class StaleCopy(Exception):
    """The executed copy does not belong to the notebook as it is now."""


class Player:
    """What nbval asks of a running kernel, answered from an executed copy."""

    language = "python"

    def __init__(self, executed: Path):
        if not executed.is_file():
            raise StaleCopy(f"{executed} is not there; run `make book` first")
        self._executed = executed
        cells = nbformat.read(executed, as_version=4).cells
        self._cells = deque(
            cell
            for cell in cells
            if cell.cell_type == "code"
            and "injected-parameters" not in cell.metadata.get("tags", [])
        )
        self._messages: deque[dict[str, Any]] = deque()
        self._asked = 0

    def execute_cell_input(self, source: str, allow_stdin: Any = None) -> str:
        cell = self._cells.popleft() if self._cells else None
        if cell is None or cell.source != source:
            raise StaleCopy(f"{self._executed.name} is stale; run `make book` first")
        if source.strip() and cell.execution_count is None:
            raise StaleCopy(f"{self._executed.name} has a cell that was never executed")
        self._asked += 1
        message_id = f"replay-{self._asked}"
        for output in cell.outputs:
            content = dict(output)
            self._put(message_id, content.pop("output_type"), content)
        self._put(message_id, "status", {"execution_state": "idle"})
        return message_id

    def _put(self, message_id: str, kind: str, content: dict[str, Any]) -> None:
        parent = {"msg_id": message_id}
        message = {"msg_type": kind, "content": content, "parent_header": parent}
        self._messages.append(message)

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        if not self._messages:
            raise Empty
        return self._messages.popleft()

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None: ...

    def await_idle(self, msg_id: str, timeout: float) -> None:
        while self._messages and self._messages.popleft()["msg_type"] != "status":
            pass

    def is_alive(self) -> bool:
        return True

    def interrupt(self) -> None: ...

    def stop(self) -> None: ...
