"""Memory that a round gives back is there for the next one."""

import platform
import subprocess
import sys

import pytest

# 100 clients, a network of 14,000 numbers: rounds whose models take a few MB at a time.
ROUNDS = """
import resource
import torch
import fedlab_core as fl
from fedlab_core.engine import Client
from fedlab_core.models import initial_state
from fedlab_core.tree import repeat

torch.set_num_threads(1)
make = fl.build("mlp", (1, 12, 12), 10, hidden=(64, 64))
x, y = torch.randn(12_800, 1, 12, 12), torch.randint(10, (12_800,))
cohort = [Client(i, (0, 0, k)) for k, i in enumerate(torch.arange(12_800).split(128))]
given, model = fl.ClientInput(repeat(initial_state(make, 0), 100)), make()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def rounds(many):
    for _ in range(many):
        fl.train(model, x, y, cohort, given, fl.Training(batch_size=16))

rounds(10)
before = faults()
rounds(10)
print((faults() - before) / 10)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="is about glibc's heap")
def test_a_round_does_not_fetch_its_memory_anew():
    """Without `memory.keep` some 4,000 pages a round, 16 MB."""
    done = subprocess.run(
        [sys.executable, "-c", ROUNDS], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 1000
