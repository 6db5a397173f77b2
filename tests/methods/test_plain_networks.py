"""A network of one's own, without the two parts that some methods ask for."""

import pytest
from torch import nn

import fedlab_core as fl
from fedlab_core.errors import InputError
from fedlab_core.methods import METHODS
from fedlab_core.models import Split

IN_TWO_PARTS = {"rfedavg", "rfedavg-plus", "fedimpro", "moon"}


def layers(data: fl.Dataset) -> list[nn.Module]:
    flat = nn.Linear(data.x_train[0].size, 8)
    return [nn.Flatten(), flat, nn.ReLU(), nn.Linear(8, len(data.classes))]


def world(data: fl.Dataset, make) -> fl.World:
    return fl.world(data, fl.iid(data.y_train, 5), make, proxy=fl.Proxy(2))


def play(place: fl.World, name: str, engine: str) -> fl.History:
    method = METHODS[name](fl.Training(lr=0.1, batch_size=16))
    return fl.federate(place, method, 1, engine=engine, progress=False)


@pytest.mark.parametrize("name", METHODS)
def test_every_other_method_takes_it(small_data, name):
    place = world(small_data, lambda: nn.Sequential(*layers(small_data)))
    if name not in IN_TWO_PARTS:
        assert len(play(place, name, "looped").rows) == 1
        return
    with pytest.raises(InputError, match="a Sequential, has no `features`") as refused:
        play(place, name, "looped")
    assert "\n" not in str(refused.value)
    assert "fedlab_core.models.Split(features, head)" in str(refused.value)


@pytest.mark.parametrize("engine", ["looped", "stacked"])
@pytest.mark.parametrize("name", sorted(IN_TWO_PARTS))
def test_in_two_parts_it_is_taken_by_all(small_data, name, engine):
    def make() -> Split:
        *features, head = layers(small_data)
        return Split(nn.Sequential(*features), head)

    assert len(play(world(small_data, make), name, engine).rows) == 1


@pytest.mark.parametrize("engine", ["looped", "stacked"])
def test_half_of_it_is_not_enough(small_data, engine):
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            *features, self.last = layers(small_data)
            self.features = nn.Sequential(*features)

        def forward(self, x):
            return self.last(self.features(x))

    place = world(small_data, Half)
    with pytest.raises(InputError, match="a Half, has no `head`"):
        play(place, "rfedavg-plus", engine)
