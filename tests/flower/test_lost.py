"""A client that is missing in a round: it is as one that was not drawn, and comes back.

The plain side of each test is `federate` with the participants that were left.
"""

from typing import Any

import pytest
import torch

import fedlab_core as fl
from fedlab_core import InputError
from fedlab_core.rounds import presence
from fedlab_flower import federation
from fedlab_flower.flower import Here
from fedlab_flower.lost import if_lost
from tests.flower.playing import CLIENTS, SEED, deployed, named, simulated
from tools import gallery

# A server of every kind of memory, clients of every kind, reports and own models.
KINDS = ["scaffold", "feddyn", "feddc", "fedavgm", "rfedavg", "rfedavg-plus", "ditto"]
KINDS += ["feddisco", "fednova", "ifca", "pfedme", "fedlaw"]


def close(got: dict, want: dict) -> None:
    for n, v in want.items():
        torch.testing.assert_close(got[n], v, rtol=0, atol=1e-6)


def without(client: int, round_: int):
    """A network that loses one client's answer in one round, after it has trained."""

    def tamper(sent, reply):
        facts = sent.content.config_records["facts"]
        lost = facts["client"] == client and facts["round"] == round_ - 1
        return None if lost and sent.metadata.message_type != "evaluate" else reply

    return tamper


@pytest.mark.parametrize("name", KINDS)
def test_a_lost_answer_counts_for_nothing(name, tmp_path, monkeypatch):
    """Neither in the model nor in c or h: SCAFFOLD's c moves by |S| / N of those left,
    and the client, whose answer was not counted, goes on from where it was before."""
    method = named(name)
    got, _ = deployed(method, tmp_path, 4, without(1, 2), enough=2)
    draw = presence.draw_participants

    def drawn(clients, take_part, seed, t):
        return [0, 2] if t == 1 else draw(clients, take_part, seed, t)

    monkeypatch.setattr(presence, "draw_participants", drawn)
    want = fl.federate(simulated(method), method, 4, seed=SEED, engine="looped")
    close(got.states, want.states)
    assert [row["participants"] for row in got.rows] == [3, 2, 3, 3]
    assert got.group_of == want.group_of


@pytest.mark.parametrize("name", ["scaffold", "rfedavg", "ifca", "ditto"])
def test_a_rule_of_who_takes_part_is_that_of_a_simulation(name, tmp_path):
    """In round 2 nobody is up, and here, too, it changes nothing."""
    method, rule = named(name), fl.UpAndDown(0.6, 0.4)
    got, _ = deployed(method, tmp_path, 5, participants=rule)
    run = {"participants": rule, "engine": "looped"}
    want = fl.federate(simulated(method), method, 5, seed=SEED, **run)
    close(got.states, want.states)
    there = [row["participants"] for row in got.rows]
    assert there == [row["participants"] for row in want.rows] and 0 in there
    assert got.accuracy() == pytest.approx(want.accuracy())


def test_by_default_everybody_is_needed(tmp_path):
    says = "round 2, train: 2 of 3 clients answered and 3 are needed .client 1: no answ"
    with pytest.raises(InputError, match=says):
        deployed(named("fedavg"), tmp_path, 3, without(1, 2))


def test_a_group_that_nobody_is_left_of_keeps_its_model(tmp_path):
    """Everyone alone: the client that is lost in the last round stays where it was."""
    method = named("local")
    whole, _ = deployed(method, tmp_path / "a", 1)
    got, _ = deployed(method, tmp_path / "b", 2, without(1, 2), enough=1)
    close({n: v[1] for n, v in got.states.items()}, {
        n: v[1] for n, v in whole.states.items()
    })  # fmt: skip


def test_too_few_for_a_methods_groups_is_refused_before_anyone_trains(tmp_path):
    with pytest.raises(InputError, match="2 clusters need 2 clients or more, not 1"):
        deployed(named("fesem"), tmp_path, 2, enough=1)


def test_before_round_one_nobody_may_be_missing(tmp_path):
    lost = lambda sent, reply: (  # noqa: E731
        None if sent.metadata.message_type == "query.alone" else reply
    )
    with pytest.raises(InputError, match="before round 1, alone: 0 of 3 clients"):
        deployed(named("kmeans"), tmp_path, 2, lost, enough=1)


class Restarted:
    """A node that is gone in round 2, and back in round 3 under another number."""

    def __init__(self, folder: str):
        self.grid: Here | None = None
        self.folder = folder

    def __call__(self, sent, reply):
        assert self.grid is not None
        facts = sent.content.config_records["facts"]
        node = sent.metadata.dst_node_id
        if facts["client"] == 0 and facts["round"] == 1 and node == 90:
            self.grid.contexts.pop(node)
            self.grid.connect(4711, {"partition-id": 0, "memory": self.folder})
            return None
        return reply


@pytest.mark.parametrize("name", ["scaffold", "ditto"])
def test_a_node_that_is_started_again_loses_its_turn_alone(name, tmp_path, monkeypatch):
    again, seen = Restarted(str(tmp_path)), []
    play = Here.play

    def watched(grid, server):
        again.grid = grid
        seen.append(grid)
        return play(grid, server)

    monkeypatch.setattr(Here, "play", watched)
    method = named(name)
    got, _ = deployed(method, tmp_path, 4, again, enough=2)
    assert sorted(seen[0].contexts) == [88, 89, 4711]
    draw = presence.draw_participants
    monkeypatch.setattr(
        presence, "draw_participants", lambda *a: [1, 2] if a[3] == 1 else draw(*a)
    )
    want = fl.federate(simulated(method), method, 4, seed=SEED, engine="looped")
    close(got.states, want.states)


def test_memory_that_is_gone_is_not_taken_for_a_beginning(tmp_path):
    """Its c would be 0 while the server's still has its part: it is left out."""

    def forgetful(sent, reply):
        if sent.content.config_records["facts"]["round"] == 1:
            for file in tmp_path.glob("*-1.safetensors"):
                file.unlink()
        return reply

    says = "client 1: what it kept after round 1 of run [0-9a-f]{16} is not in"
    with pytest.raises(InputError, match=says):
        deployed(named("scaffold"), tmp_path, 4, forgetful)


def test_a_method_that_keeps_something_needs_a_folder(tmp_path):
    nodes = {k + 1: {"partition-id": k} for k in range(CLIENTS)}
    with pytest.raises(InputError, match="name a folder for it in the node's config"):
        deployed(named("scaffold"), tmp_path, 1, nodes=nodes)


class Died(Exception):
    """The server, in the middle of a round."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scaffold", "fedcollab", "ditto", "rfedavg", "cfl"])
def test_a_server_that_died_goes_on_from_its_checkpoint(name, tmp_path):
    """In round 4 two clients have trained and kept what came of it, when it dies."""
    method = named(name)
    here: dict[str, Any] = {"checkpoint": str(tmp_path / "server.safetensors")}

    def kill(sent, reply):
        facts = sent.content.config_records["facts"]
        if (facts["client"], facts["round"]) == (1, 3) and facts["counted"] == 2:
            raise Died
        return reply

    with pytest.raises(Died):
        deployed(method, tmp_path, 5, kill, **here)
    got, grid = deployed(method, tmp_path, 5, **here)
    assert len(grid.bytes[("train", "down")]) == 2 * CLIENTS  # rounds 4 and 5 alone
    want = fl.federate(simulated(method), method, 5, seed=SEED, engine="looped")
    close(got.states, want.states)
    assert [row["round"] for row in got.rows] == [1, 2, 3, 4, 5]
    assert "step" not in {kind for kind, _ in grid.bytes}, "distances were asked again"


def test_a_checkpoint_of_another_run_ends_the_run(tmp_path):
    here: dict[str, Any] = {"checkpoint": str(tmp_path / "server.safetensors")}
    deployed(named("fedavg"), tmp_path, 1, **here)
    with pytest.raises(InputError, match="is not gone on from: it is about other runs"):
        deployed(named("feddisco"), tmp_path, 1, **here)


def test_what_cannot_be_deployed_says_so_when_it_is_built():
    class Labels:
        name, scalars = "labels", 10

        def __call__(self, members):
            return torch.full((len(members.ids),), 1 / len(members.ids))

    with pytest.raises(InputError, match="weigh=labels looks at the labels of all cli"):
        federation.deployable(fl.fedavg(weigh=Labels()))


def test_groups_that_look_at_data_say_so_before_anyone_trains(tmp_path):
    peeking = fl.Groups("peeking", lambda world, seed: [int(world.y[0])] * len(world))
    with pytest.raises(InputError, match="groups=peeking cannot be deployed: to begin"):
        deployed(fl.fedavg(groups=peeking), tmp_path, 1)


@pytest.mark.parametrize(
    "name, says",
    [
        ("fedavg", "The round is of those who answered."),
        ("scaffold", "c moves by the share |S| / N of those who answered"),
        ("feddyn", "the sum of all moves keeps what the client gave before"),
        ("rfedavg", "others are still told its last report"),
        ("ditto", "what it keeps stays as of its last round that counted"),
        ("local", "Its model stays as it is."),
        ("fesem", "the first round needs as many answers as there are centres"),
        ("kmeans", "before round 1 nobody may be missing: all models are clustered"),
    ],
)
def test_the_card_of_a_method_says_what_a_lost_client_means(name, says):
    """Each of these is played above."""
    assert says in if_lost(named(name))
    assert f":if a client is lost: {if_lost(fl.METHODS[name]())}" in gallery.card(name)
