"""FedAvg: two clients by hand, the plain version, reductions, invariants, misuse."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlab_core import (
    METHODS,
    BySize,
    Dataset,
    Equal,
    Partition,
    Training,
    World,
    build,
    fedavg,
    federate,
    iid,
    local_only,
    nobody,
    tree,
    world,
)
from fedlab_core.engine import Client, batch_order
from fedlab_core.keys import derive_seed
from fedlab_core.methods.fedavg import average
from fedlab_core.models import initial_state
from fedlab_core.rounds.records import draw_participants
from fedlab_core.rounds.weigh import Members
from tests.methods.gathering import gathered
from tests.reference import fedavg as plain


def members(counts) -> Members:
    held = torch.tensor(counts)
    return Members.holding(held)


def one_pixel_world(xs, ys, held) -> World:
    """Images of one pixel whose normalised value is the stored byte; two classes."""
    x = np.array(xs, dtype=np.uint8).reshape(-1, 1, 1)
    y = np.array(ys, dtype=np.int64)
    data = Dataset("toy", x, y, x, y, ("0", "1"), (0.0,), (1 / 255,))
    who = Partition("by hand", {}, tuple(np.array(h) for h in held))
    return world(data, who, build("mlp", data.shape, 2, hidden=()))


ZERO = {"head.weight": torch.zeros(2, 1), "head.bias": torch.zeros(2)}


def test_two_clients_by_hand():
    """Softmax regression from zero, one step with lr = 1 and the whole client a batch.

    Both classes start with probability 1/2, so the gradient of the logits is
    (-1/2, 1/2) for a sample of class 0 and (1/2, -1/2) for one of class 1.
    A holds three samples x = 1 of class 0: W = (1/2, -1/2), b = (1/2, -1/2).
    B holds one sample x = 2 of class 1:    W = (-1, 1),     b = (-1/2, 1/2).
    By size, 3/4 and 1/4: W0 = 3/8 - 1/4 = 1/8, b0 = 3/8 - 1/8 = 1/4.
    Equal, 1/2 and 1/2:   W0 = 1/4 - 1/2 = -1/4, b0 = 0.
    """
    w = one_pixel_world([1, 1, 1, 2], [0, 0, 0, 1], [[0, 1, 2], [3]])
    local = Training(lr=1.0, batch_size=10)
    for weigh, slope, shift in ((BySize(), 1 / 8, 1 / 4), (Equal(), -1 / 4, 0.0)):
        got = federate(w, fedavg(local, weigh), 1, start=ZERO).states
        want = torch.tensor([[[slope], [-slope]]])
        torch.testing.assert_close(got["head.weight"], want)
        torch.testing.assert_close(got["head.bias"], torch.tensor([[shift, -shift]]))


def plainly(w: World, local: Training, rounds, seed, participants, weights):
    """The reference's states, fed with the engine's own draws."""
    model = w.make()
    model.load_state_dict(initial_state(w.make, derive_seed(seed, 0xF1257)))
    clients = [(w.x[i], w.y[i]) for i in w.partition.indices]

    def batches(k, t):
        mine = torch.arange(len(clients[k][1]))
        return batch_order(Client(mine, (seed, t, k)), local)

    drawn = [draw_participants(len(w), participants, seed, t) for t in range(rounds)]
    sgd = (local.lr, local.momentum, local.weight_decay)
    return plain.run(model, clients, rounds, drawn, batches, *sgd, weights(clients))


WEIGHTS = {"fedavg": plain.size_weights, "equal": lambda clients: plain.equal_weights}


@pytest.mark.parametrize("participants", [None, 3])
@pytest.mark.parametrize("engine", ["stacked", "looped"])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.equals(n)) for n in WEIGHTS]
)
def test_equals_the_plain_version(small_world, engine, participants, name):
    local = Training(lr=0.05, epochs=2, batch_size=16, momentum=0.9, weight_decay=1e-3)
    want = plainly(small_world, local, 3, 7, participants, WEIGHTS[name])
    seen = []
    federate(
        small_world,
        METHODS[name](local),
        3,
        seed=7,
        participants=participants,
        engine=engine,
        observe=lambda r: seen.append(r.after) or {},
    )
    for after, state in zip(seen, want, strict=True):
        for name, v in state.items():
            torch.testing.assert_close(after[name][0], v, rtol=1e-5, atol=1e-5)


@pytest.mark.equals("local")
@pytest.mark.parametrize("engine", ["stacked", "looped"])
def test_alone_equals_the_plain_version_with_one_client(small_world, engine):
    """Three rounds; the keys of the mini-batches are those of client k."""
    local, w = Training(lr=0.05, batch_size=16, momentum=0.9), small_world
    got = federate(w, local_only(local), 3, seed=7, engine=engine).states
    for k, held in enumerate(w.partition.indices):
        model = w.make()
        model.load_state_dict(initial_state(w.make, derive_seed(7, 0xF1257)))

        def batches(_, t, k=k, held=held):
            return batch_order(Client(torch.arange(len(held)), (7, t, k)), local)

        alone = ([(w.x[held], w.y[held])], 3, [[0]] * 3, batches)
        want = plain.run(model, *alone, 0.05, 0.9, 0.0, plain.equal_weights)
        for name, v in want[-1].items():
            torch.testing.assert_close(got[name][k], v, rtol=1e-5, atol=1e-5)


def test_one_client_is_plain_sgd(small_data):
    """Nothing to average: two rounds of E = 1 by torch.optim.SGD on one model."""
    w = world(small_data, iid(small_data.y_train, 1), build("mlp", (1, 14, 14), 10))
    local = Training(lr=0.1, batch_size=32)
    got = federate(w, fedavg(local), 2).states
    net = w.make()
    net.load_state_dict(initial_state(w.make, derive_seed(0, 0xF1257)))
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    held = torch.from_numpy(w.partition.indices[0])
    for t in range(2):
        for i in batch_order(Client(held, (0, t, 0)), local):
            sgd.zero_grad()
            torch.nn.functional.cross_entropy(net(w.x[i]), w.y[i]).backward()
            sgd.step()
    for name, v in net.state_dict().items():
        torch.testing.assert_close(got[name][0], v, rtol=1e-4, atol=1e-5)


def test_no_epoch_leaves_the_model_where_it_was(small_world):
    h = federate(small_world, fedavg(Training(epochs=0)), 2)
    start = initial_state(small_world.make, derive_seed(0, 0xF1257))
    for name, v in start.items():
        torch.testing.assert_close(h.states[name][0], v)


SIZES = st.lists(st.integers(1, 10_000), min_size=1, max_size=20)


@given(sizes=SIZES)
def test_weights_are_shares_that_sum_to_one(sizes):
    p = BySize()(members([[m] for m in sizes]))
    assert p.dtype == torch.float64 and float(p.sum()) == pytest.approx(1)
    assert p.tolist() == pytest.approx([m / sum(sizes) for m in sizes])
    equal = Equal()(members([[m] for m in sizes]))
    assert equal.tolist() == [1 / len(sizes)] * len(sizes)


def test_equal_sizes_give_the_plain_mean():
    who = members([[2, 3], [5, 0], [1, 4]])
    assert BySize()(who).tolist() == Equal()(who).tolist()


def test_the_average_is_the_weighted_mean_and_changes_nothing():
    after = {"w": torch.randn(3, 2, 2)}
    kept, p = after["w"].clone(), torch.tensor([0.5, 0.3, 0.2]).double()
    got = average(gathered(after, p)).model["w"]
    torch.testing.assert_close(got, 0.5 * kept[0] + 0.3 * kept[1] + 0.2 * kept[2])
    assert torch.equal(after["w"], kept)
    same = tree.repeat({"w": kept[0]}, 3)
    torch.testing.assert_close(average(gathered(same, p)).model["w"], kept[0])


def test_clients_order_does_not_matter():
    after, p = {"w": torch.randn(4, 3)}, torch.tensor([0.1, 0.2, 0.3, 0.4]).double()
    turned = [2, 0, 3, 1]
    torch.testing.assert_close(
        average(gathered(tree.take(after, turned), p[turned])).model["w"],
        average(gathered(after, p)).model["w"],
    )


def test_batch_norms_statistics_are_averaged_too(small_data):
    w = one_pixel_world([1, 3, 5, 9], [0, 1, 0, 1], [[0, 1], [2, 3]])
    make = build("mlp", (1, 1, 1), 2, hidden=(1,), batch_norm=True)
    w, seen = replace(w, make=make, model=make()), []
    federate(w, fedavg(Training()), 1, observe=lambda r: seen.append(r) or {})
    for name in ("features.2.running_mean", "features.2.running_var"):
        both = seen[0].trained.states[name]
        assert not torch.equal(both[0], both[1])
        torch.testing.assert_close(seen[0].after[name][0], both.mean(0))


def test_the_named_methods(small_world, small_local):
    assert METHODS["fedavg"]().name == "FedAvg"
    assert METHODS["equal"](small_local) == fedavg(small_local, Equal(), name="Equal")
    alone = METHODS["local"](small_local)
    assert alone == local_only(small_local)
    assert alone.groups is nobody and alone.training == small_local
    assert fedavg().training == Training()
