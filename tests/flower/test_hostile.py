"""Answers and nodes that are not what they should be: a line, and the round goes on."""

import io
import logging

import numpy as np
import pytest

from fedlab_core import InputError
from fedlab_flower import Here, client_app, parts_of, server_app
from fedlab_flower.flower import Array, question, read
from fedlab_flower.memory import Memory
from fedlab_flower.messages import Ask
from tests.flower.playing import CLIENTS, DATA, MAKE, WHO, deployed, named
from tests.flower.test_lost import close, without

NAME = "head.weight"


def changed(change):
    """A client 1 whose answer in round 2 is changed."""

    def tamper(sent, reply):
        facts = sent.content.config_records["facts"]
        if facts["client"] == 1 and facts["round"] == 1:
            change(reply.content)
        return reply

    return tamper


def saved(values, **options) -> bytes:
    file = io.BytesIO()
    np.save(file, values, **options)
    return file.getvalue()


def model(content):
    return content.array_records["model"]


def other_shape(content):
    model(content)[NAME] = Array(np.zeros((10, 9), np.float32))


def other_type(content):
    model(content)[NAME] = Array(np.zeros((10, 8), np.float64))


def nan(content):
    model(content)[NAME] = Array(np.full((10, 8), np.nan, np.float32))


def infinite_loss(content):
    content.config_records["facts"]["loss"] = float("inf")


def foreign(content):
    content.config_records["facts"]["client"] = 2


def another_round(content):
    content.config_records["facts"]["round"] = 0


def another_run(content):
    content.config_records["facts"]["run"] = "0" * 16


def more(content):
    model(content)["backdoor"] = Array(np.zeros(1, np.float32))


def less(content):
    del model(content)[NAME]


def no_model(content):
    del content["model"]


def huge(content):
    """It says that it is small; its file's own head says ten gigabytes."""
    plain = saved(np.zeros((10, 8), np.float32))
    data = plain.replace(b"(10, 8), }         ", b"(50000, 50000), }  ")
    assert len(data) == len(plain) and data != plain
    model(content)[NAME] = Array("float32", (10, 8), "numpy.ndarray", data)


def long_claim(content):
    array = Array("float32", (50_000, 50_000), "numpy.ndarray", b"")
    model(content)[NAME] = array


def pickled(content):
    data = saved(np.array([print], object), allow_pickle=True)
    model(content)[NAME] = Array("float32", (10, 8), "numpy.ndarray", data)


def another_kind(content):
    data = saved(np.zeros((10, 8), np.float32))
    model(content)[NAME] = Array("float32", (10, 8), "pickle", data)


WRONG = {
    other_shape: "its model head.weight is float32 of (10, 9), not float32 of (10, 8)",
    other_type: "its model head.weight is float64 of (10, 8), not float32",
    nan: "its model is not finite",
    infinite_loss: "its loss is inf",
    foreign: "its answer is of client 2, not 1",
    another_round: "its answer is of round 0, not 1",
    another_run: "its answer is of run '0000000000000000', not",
    more: "its model has not the right names: ['backdoor']",
    less: "its model has not the right names: ['head.weight']",
    no_model: "it has [], not ['model']",
    huge: "its model head.weight is not saved as NumPy does",
    long_claim: "its model head.weight is float32 of (50000, 50000), not",
    pickled: "its model head.weight has",
    another_kind: "its model head.weight is no NumPy array",
}


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    """Three rounds in which client 1 is simply missing in the second."""
    folder = tmp_path_factory.mktemp("lost")
    return deployed(named("fedavg"), folder, 3, without(1, 2), enough=2)[0]


@pytest.mark.parametrize("change", WRONG, ids=lambda change: change.__name__)
def test_a_broken_answer_is_left_out(change, lost, tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "flwr"):
        got, _ = deployed(named("fedavg"), tmp_path, 3, changed(change), enough=2)
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    line = f"round 2, train goes on without client 1: {WRONG[change]}"
    assert len(said) == 1 and said[0].startswith(line), said
    close(got.states, lost.states)
    assert got.rows[-1] == pytest.approx(lost.rows[-1])


def test_an_answer_to_nothing_is_left_aside(lost, tmp_path, caplog):
    def astray(sent, reply):
        facts = sent.content.config_records["facts"]
        if facts["client"] == 1 and facts["round"] == 1:
            reply.metadata.__dict__["_reply_to_message_id"] = "message 1"
        return reply

    got, _ = deployed(named("fedavg"), tmp_path, 3, astray, enough=2)
    close(got.states, lost.states)


def grid_of(nodes, method="fedavg", clients=CLIENTS, wait=0.01):
    """A grid of such nodes, and a server of FedAvg that waits for its clients."""
    client = client_app(named(method), MAKE, parts_of(DATA, WHO), engine="looped")
    own = named("fedavg")
    server = server_app(own, MAKE, lambda: DATA, clients=clients, rounds=1, wait=wait)
    return Here(client, nodes), server


def test_a_node_says_who_it_is_and_the_server_knows_who_there_can_be(caplog):
    """Two of three are asked for: the third is a stranger."""
    grid, server = grid_of(THERE, clients=2)
    with caplog.at_level(logging.WARNING, "flwr"):
        grid.play(server)
    assert "a node is not let in: its partition-id is 2, not 0 to 1" in caplog.text


THERE = {7: {"partition-id": 0}, 6: {"partition-id": 1}, 5: {"partition-id": 2}}


@pytest.mark.parametrize(
    "extra, says",
    [
        ({"partition-id": 0}, "it says it is client 0, which another node is"),
        ({"partition-id": 3}, "there is no client 3 here: they are 0 to 2"),
        ({"partition-id": -1}, "name this node: --node-config partition-id=0"),
        ({}, "name this node: --node-config partition-id=0"),
        ({"partition-id": "0"}, "name this node: --node-config partition-id=0"),
    ],
)
def test_a_node_that_is_nobody_is_not_let_in(extra, says, caplog):
    grid, server = grid_of(THERE | {99: extra})
    with caplog.at_level(logging.WARNING, "flwr"):
        grid.play(server)
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert said == [f"a node is not let in: {says}"]


def test_a_node_with_another_method_is_not_let_in(caplog):
    grid, server = grid_of(THERE, "fedprox")
    with pytest.raises(InputError, match="0 of 3 clients are there; no node has part"):
        grid.play(server)
    assert "client 0 has another method than the server" in caplog.text


def test_clients_that_do_not_come_are_named():
    grid, server = grid_of({7: {"partition-id": 1}})
    with pytest.raises(
        InputError, match="1 of 3 clients are there; .* partition-id 0, 2"
    ):
        grid.play(server)


def test_a_question_for_another_client_is_not_answered():
    grid, _ = grid_of(THERE)
    facts = {"client": 2, "round": 0, "run": "0" * 16, "seed": 0, "counted": -1}
    message = question(Ask("losses", 2, facts), 7, 10)
    message.metadata.__dict__["_message_id"] = "m"
    reply = grid.app(message, grid.contexts[7])
    with pytest.raises(InputError, match="this is client 0, not client 2"):
        read(reply, {})


def test_the_name_of_a_run_is_no_way_out_of_the_folder(tmp_path):
    with pytest.raises(InputError, match="is not the name of a run"):
        Memory(str(tmp_path), "../../etc/passwd", 0).keep(-1, {}, 0, {})
