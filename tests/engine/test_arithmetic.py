"""Settings of the process do not reach into a run, nor a run into the process."""

import pytest
import torch

import fedlab_core as fl
from fedlab_core.client import cross_entropy
from fedlab_core.engine.determinism import exact


def now() -> tuple:
    cudnn = torch.backends.cudnn
    flags = (cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32)
    return torch.get_float32_matmul_precision(), *flags


EXACT, SHORT = ("highest", False, True, False), ("high", False, True, True)
LOOSE = ("medium", True, False, True)


@pytest.fixture
def loose_process():
    """A process that asked for speed, as many scripts do in their first lines."""
    with torch.backends.cudnn.flags(True, True, deterministic=False, allow_tf32=True):
        torch.set_float32_matmul_precision("medium")
        yield
        torch.set_float32_matmul_precision("highest")


def test_the_way_back_is_found_also_after_an_error(loose_process):
    assert now() == LOOSE
    with exact():
        with exact(short=True):
            assert now() == SHORT
        assert now() == EXACT
    with pytest.raises(KeyError), exact():
        raise KeyError
    assert now() == LOOSE


def test_all_of_a_run_is_exact_and_the_process_stays_as_it_was(
    loose_process, small_world, small_local
):
    """Clients, the server, the test and who looks on; training alone is not enough."""
    seen = {}

    def loss(net, params, batch, given):
        seen["loss"] = now()
        return cross_entropy(net, params, batch, given)

    def step(gathered):
        seen["server"] = now()
        return fl.ServerState(gathered.before.model)

    def observe(done):
        seen["observer"] = now()
        return {}

    rule, server = fl.Rule(loss=loss), fl.Server("mine", step)
    method = fl.fedavg(small_local, name="Looks", rule=rule, server=server)
    fl.federate(small_world, method, 1, observe=observe)
    assert seen == dict.fromkeys(("loss", "server", "observer"), EXACT)
    assert now() == LOOSE
