"""Everything that is Flower's: messages on its wire, its Strategy, a Grid in process.

The only file that imports `flwr`: what changes there is changed here.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from logging import WARNING
from typing import Any

from flwr.app import (
    Array,
    ArrayRecord,
    ConfigRecord,
    Context,
    Error,
    Message,
    MetricRecord,
    RecordDict,
)
from flwr.clientapp import ClientApp
from flwr.common import serde  # not public: that a message can be sent, and its bytes
from flwr.common.logger import log
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import Strategy
from flwr.supercore.task_identity import TaskIdentity  # not public: who sends
from torch import from_numpy

from fedlab_core.errors import InputError, require
from fedlab_core.tree import Tree
from fedlab_flower.messages import (
    HELLO,
    JUDGE,
    TRAIN,
    Ask,
    Facts,
    Reply,
    Trees,
    tensor_of,
)

__all__ = [
    "ClientApp",
    "Grid",
    "MetricRecord",
    "ServerApp",
    "Strategy",
    "WARNING",
    "log",
]
QUERIES = (HELLO, "losses", "report", "alone", "moments", "step", "score")
_FACTS, _RAISED = "facts", 2  # the record of plain facts; Flower's code for an error
_TYPES = {TRAIN: "train", JUDGE: "evaluate"} | {n: f"query.{n}" for n in QUERIES}
_KINDS = {sent: kind for kind, sent in _TYPES.items()}
LOOK = 0.3  # seconds between two looks for answers


def _records(facts: Facts, trees: Trees) -> RecordDict:
    records: dict[str, Any] = {_FACTS: ConfigRecord(dict(facts))}
    for name, tree in trees.items():
        records[name] = arrays_of(tree)
    return RecordDict(records)


def arrays_of(tree: Tree) -> ArrayRecord:
    """Flower's arrays of a tree."""
    plain = {n: v.detach().cpu().contiguous().numpy() for n, v in tree.items()}
    return ArrayRecord({n: Array(v) for n, v in plain.items()})


def question(ask: Ask, node: int, limit: float) -> Message:
    """A question as Flower sends it, which nobody answers after so many seconds."""
    content, group = _records(ask.facts, ask.trees), str(ask.facts["round"])
    return Message(content, node, _TYPES[ask.kind], ttl=limit, group_id=group)


def asked(message: Message) -> Ask:
    """The question that a message is: the client's side trusts its server's shapes."""
    content, kind = message.content, _KINDS.get(message.metadata.message_type, "")
    facts: Any = dict(content.config_records.get(_FACTS, {}))
    trees = {
        name: {n: from_numpy(array.numpy()).clone() for n, array in record.items()}
        for name, record in content.array_records.items()
    }
    return Ask(kind, int(facts.get("client", -1)), facts, trees)


def answered(message: Message, reply: Reply | str) -> Message:
    """The answer to a message, or the line that says why there is none."""
    if isinstance(reply, str):
        return Message(Error(code=_RAISED, reason=reply), reply_to=message)
    return Message(_records(reply.facts, reply.trees), reply_to=message)


def read(message: Message, like: Trees) -> Reply:
    """The answer in a message, which must have the arrays of `like` and no others."""
    if message.has_error():
        lines = str(message.error.reason).strip().splitlines()
        raise InputError(lines[-1].strip()[:200] if lines else "it failed")
    content, trees = message.content, Trees()
    arrays, known = content.array_records, set(content.array_records)
    require(known == set(like), f"it has {sorted(known)}, not {sorted(like)}"[:200])
    for name, tree in like.items():
        got = set(arrays[name])
        strange = sorted(got ^ set(tree))[:3]
        require(not strange, f"its {name} has not the right names: {strange}"[:200])
        trees[name] = {}
        for n, v in tree.items():
            one = arrays[name][n]
            require(one.stype == "numpy.ndarray", f"its {name} {n} is no NumPy array")
            try:
                trees[name][n] = tensor_of(one.data, one.dtype, one.shape, v)
            except InputError as error:
                raise InputError(f"its {name} {n} {error}") from None
    facts = content.config_records.get(_FACTS, {})
    plain: Any = {n: v for n, v in facts.items() if isinstance(v, (int, str, float))}
    return Reply(plain, trees)


class Prompt(Grid):
    """A grid that looks for answers more often than every three seconds."""

    def __init__(self, grid: Grid):
        self.grid = grid

    def set_run(self, run: Any) -> None:
        """Set the run, as Flower does."""
        self.grid.set_run(run)

    @property
    def run(self) -> Any:
        """Flower's record of the run."""
        return self.grid.run

    def create_message(self, *arguments: Any, **options: Any) -> Message:
        """Flower's older way to make a message."""
        return self.grid.create_message(*arguments, **options)

    def get_node_ids(self) -> Iterable[int]:
        """The nodes that are connected."""
        return self.grid.get_node_ids()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages; their names."""
        return self.grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """The answers that are there."""
        return self.grid.pull_messages(message_ids)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Send messages and wait for all answers, or for so long."""
        waits = {name for name in self.push_messages(list(messages)) if name}
        end = time.monotonic() + (timeout if timeout is not None else float("inf"))
        found: list[Message] = []
        while waits:
            came = list(self.pull_messages(waits))
            found += came
            waits -= {message.metadata.reply_to_message_id for message in came}
            if not waits or time.monotonic() > end:
                break
            time.sleep(LOOK)
        return found


class Here(Prompt):
    """A grid in this process: nodes are calls of a ClientApp, one after another.

    Messages go through the bytes that they would be sent as, so that what cannot be
    sent fails here too; `bytes` counts them by kind, down and up. `tamper` may change
    an answer, or take it away.
    """

    def __init__(
        self,
        app: ClientApp,
        nodes: Mapping[int, Mapping[str, Any]],
        config: Mapping[str, Any] | None = None,
        tamper: Callable[[Message, Message], Message | None] | None = None,
    ):
        for name in ("run_id", "node_id", "task_id"):
            if getattr(TaskIdentity, f"_{name}") is None:
                setattr(TaskIdentity, name, 1)
        self.app, self.tamper, self.config = app, tamper, dict(config or {})
        self.contexts: dict[int, Context] = {}
        for node, own in nodes.items():
            self.connect(node, own)
        self.bytes: dict[tuple[str, str], list[int]] = {}
        self.waiting: dict[str, Message] = {}
        self.pushed = 0

    def connect(self, node: int, own: Mapping[str, Any]) -> None:
        """A node with this configuration, or the same one started again."""
        self.contexts[node] = self.context(node, own)

    def context(self, node: int = 1, own: Mapping[str, Any] | None = None) -> Context:
        """A context as an app is given one; by default the server's."""
        return Context(1, node, dict(own or {}), RecordDict(), dict(self.config))

    def get_node_ids(self) -> Iterable[int]:
        """The nodes that are connected."""
        return list(self.contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Let the nodes answer."""
        names = []
        for message in messages:
            self.pushed += 1
            name = f"message {self.pushed}"
            message.metadata.__dict__["_message_id"] = name
            names.append(name)
            sent, node = self._through(message, "down"), message.metadata.dst_node_id
            try:
                reply = self.app(sent, self.contexts[node])
            except Exception as error:  # as Flower does with whatever an app raises
                reply = Message(Error(code=_RAISED, reason=str(error)), reply_to=sent)
            came = self.tamper(sent, reply) if self.tamper else reply
            if came is not None:
                self.waiting[name] = self._through(came, "up")
        return names

    def _through(self, message: Message, way: str) -> Message:
        proto = serde.message_to_proto(message)
        kind = _KINDS.get(message.metadata.message_type, "")
        self.bytes.setdefault((kind, way), []).append(proto.ByteSize())
        through = type(proto).FromString(proto.SerializeToString())
        return serde.message_from_proto(through)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """The answers, each once."""
        return [self.waiting.pop(n) for n in list(message_ids) if n in self.waiting]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """All answers that there will ever be; nobody waits for the others."""
        return self.pull_messages(self.push_messages(messages))

    def play(self, server: ServerApp) -> "Here":
        """Run a ServerApp on this grid to its end."""
        server(self, self.context())
        return self


def prompt(grid: Grid) -> Grid:
    """The grid, looking often for answers; one in this process has them at once."""
    return grid if isinstance(grid, Prompt) else Prompt(grid)
