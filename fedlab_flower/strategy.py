"""A federation's rounds as Flower's: who is there, what is asked, what is let in."""

import time
from collections.abc import Callable, Iterable, Sequence

from fedlab_core.errors import InputError, require
from fedlab_core.tree import Tree, nest
from fedlab_flower.federation import Federation
from fedlab_flower.flower import (
    LOOK,
    WARNING,
    ArrayRecord,
    ConfigRecord,
    Grid,
    Message,
    MetricRecord,
    Strategy,
    arrays_of,
    log,
    question,
    read,
)
from fedlab_flower.messages import JUDGE, TRAIN, Answers, Ask, Reply, held_to


class Line:
    """The line to all clients: which node is whom, what is sent, what comes back.

    A node says which partition it holds. While it answers, nobody else can be that
    client; when it does not, the next new node that says so takes its place.
    """

    def __init__(self, grid: Grid, clients: int, limit: float, hello: Ask):
        self.grid, self.clients, self.limit, self.hello = grid, clients, limit, hello
        self.node: dict[int, int] = {}
        self.first: dict[int, Reply] = {}  # what each client said when it joined
        self.silent: set[int] = set()  # clients that did not answer last
        self.greeted: set[int] = set()
        self.sent: list[tuple[Ask, Message]] = []
        self.run = ""

    def gather(self, wait: float) -> list[Reply]:
        """Every client's first words; all of them must come in time."""
        end = time.monotonic() + wait
        while True:
            self.greet()
            away = [k for k in range(self.clients) if k not in self.node]
            if not away:
                return [self.first[k] for k in range(self.clients)]
            if time.monotonic() > end:
                missing = ", ".join(map(str, away[:8]))
                raise InputError(
                    f"after {wait:g} s {len(self.node)} of {self.clients} clients are "
                    f"there; no node has partition-id {missing}"
                )
            time.sleep(LOOK)

    def greet(self) -> None:
        """Ask nodes that are new who they are."""
        new = sorted(set(self.grid.get_node_ids()) - self.greeted)
        if not new:
            return
        self.greeted |= set(new)
        asks = [(node, question(self.hello, node, self.limit)) for node in new]
        replies = self.grid.send_and_receive([m for _, m in asks], timeout=self.limit)
        nodes = {m.metadata.message_id: node for node, m in asks}
        for message in sorted(replies, key=lambda m: m.metadata.reply_to_message_id):
            node = nodes.get(message.metadata.reply_to_message_id)
            try:
                if node is not None:
                    self._join(node, read(message, self.hello.like))
            except InputError as error:
                log(WARNING, "a node is not let in: %s", error)

    def _join(self, node: int, said: Reply) -> None:
        k, wanted = said.facts.get("client"), range(self.clients)
        known = type(k) is int and k in wanted
        require(known, f"its partition-id is {k!r:.20}, not 0 to {self.clients - 1}")
        assert type(k) is int
        samples = said.facts.get("samples")
        require(type(samples) is int and samples >= 0, f"client {k} has no samples")
        taken = k in self.node and k not in self.silent
        require(not taken, f"it says it is client {k}, which another node is")
        for what in ("method", "data", "model"):
            same = said.facts.get(what) == self.hello.facts[what]
            require(same, f"client {k} has another {what} than the server")
        before = self.first.setdefault(k, said)
        same = before.facts.get("samples") == samples
        require(same, f"client {k} came back with {samples} samples, not as many")
        self.node[k] = node
        self.silent.discard(k)

    def messages(self, asks: Sequence[Ask]) -> list[Message]:
        """The questions to those clients that are there, as Flower sends them."""
        self.greet()
        there = set(self.grid.get_node_ids())
        reached = [ask for ask in asks if self.node.get(ask.client) in there]
        self.sent = [
            (a, question(a, self.node[a.client], self.limit + 60)) for a in reached
        ]
        return [message for _, message in self.sent]

    def answers(self, asks: Sequence[Ask], replies: Iterable[Message]) -> Answers:
        """Replies by client, or in one line why there is none that counts."""
        found: Answers = {a.client: "it is not connected" for a in asks}
        found |= {a.client: f"no answer in {self.limit:g} s" for a, _ in self.sent}
        asked = {m.metadata.message_id: ask for ask, m in self.sent}
        for message in replies:
            ask = asked.pop(message.metadata.reply_to_message_id, None)
            if ask is None:
                log(WARNING, "an answer to no question of this round is left aside")
                continue
            try:
                found[ask.client] = held_to(ask, read(message, ask.like))
            except InputError as error:
                found[ask.client] = str(error)
        for k, said in sorted(found.items()):
            if isinstance(said, str):
                self.silent.add(k)
                what = f"round {int(asks[0].facts['round']) + 1}, {asks[0].kind}"
                log(WARNING, "%s goes on without client %s: %s", what, k, said)
            else:
                self.silent.discard(k)
        return found

    def ask(self, asks: Sequence[Ask]) -> Answers:
        """Send questions and wait for what comes back."""
        sent = self.messages(asks)
        return self.answers(asks, self.grid.send_and_receive(sent, timeout=self.limit))


class Rounds(Strategy):
    """A `Federation` as a strategy of Flower's: a round of its is one of Flower's."""

    def __init__(self, federation: Federation, line: Line, after: Callable[[], None]):
        self.federation, self.line, self.after = federation, line, after
        self.talk = federation.talk()
        self.played = len(federation.state.rows)
        self.asks: list[Ask] | None = next(self.talk, None)

    def _go_on(self, answers: Answers) -> None:
        try:
            self.asks = self.talk.send(answers)
        except StopIteration:
            self.asks = None
        if len(self.federation.state.rows) > self.played:
            self.played = len(self.federation.state.rows)
            self.after()

    def _waits_for(self, kind: str) -> bool:
        return bool(self.asks) and self.asks[0].kind == kind

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask what must be known before a round; then the round's questions."""
        while self.asks and not self._waits_for(TRAIN):
            self._go_on(self.line.ask(self.asks))
        return self.line.messages(self.asks) if self.asks else []

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The next model, or models by group, and the numbers of the round."""
        if not self._waits_for(TRAIN):  # it diverged before its time
            return None, None
        assert self.asks is not None
        self._go_on(self.line.answers(self.asks, replies))
        return self.arrays(), None

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Questions to clients that judge a model, if they do."""
        asks = self.asks if self._waits_for(JUDGE) else None
        return self.line.messages(asks) if asks else []

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """The numbers of the round, as our history has them."""
        if self._waits_for(JUDGE):
            assert self.asks is not None
            self._go_on(self.line.answers(self.asks, replies))
        rows = self.federation.state.rows
        return MetricRecord(dict(rows[-1])) if rows else None

    def arrays(self) -> ArrayRecord:
        """The models as they are: plain names of one, "GROUP.NAME" of several."""
        models = [server.model for server in self.federation.now.servers]
        whole: Tree = {}
        for g, model in enumerate(models):
            whole |= model if len(models) == 1 else nest(str(g), model)
        return arrays_of(whole)

    def summary(self) -> None:
        """Nothing: what there is to say stands in the method's name and the log."""
