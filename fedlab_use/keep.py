"""Models that are kept: as a file, the best of a run, the clients' own."""

import json
import math
import os
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

from fedlab_core.arguments import Whole, checked
from fedlab_core.atomic_files import replacing
from fedlab_core.data import Dataset
from fedlab_core.errors import InputError, require
from fedlab_core.models.split import made_by
from fedlab_core.rounds.history import History
from fedlab_core.rounds.records import Round
from fedlab_core.tree import CONTIGUOUS, Tree, check_shapes, nest, subtree

_ABOUT = "fedlab"  # the file's note: which run the model is from


@checked
def save_model(
    model: History | Tree, path: str | os.PathLike, data: Dataset | None = None
) -> Path:
    """Write a state, or the only model of a history, as a safetensors file.

    The file is whole or not there, and replaces what was there. Without this package
    `safetensors.torch.load_file(path)` gives the same state. The file's note, under
    "fedlab", has the run, and of `data` the mean and std by which a network's samples
    are normalised.
    """
    about: dict = {}
    if isinstance(model, History):
        about = {"method": model.method, "seed": model.seed, "rounds": len(model.rows)}
        model = model.model()
    if data is not None:
        about |= {"mean": data.mean, "std": data.std}
    require(bool(model), "there is no tensor to save")
    plain = {
        n: v.detach().cpu().clone(memory_format=CONTIGUOUS) for n, v in model.items()
    }
    with replacing(path) as file:
        file.write(save(plain, {_ABOUT: json.dumps(about)}))
    return Path(path)


def saved(histories: list[History], path: Path, data: Dataset) -> list[Path]:
    """Files of every model: of several, with the seed and the group in their names."""
    files = []
    for h in histories:
        groups = len(next(iter(h.states.values())))
        for g in range(groups):
            said = f"-{h.seed}" * (len(histories) > 1) + f"-group{g}" * (groups > 1)
            to = path.with_name(f"{path.stem}{said}{path.suffix}")
            files.append(save_model(h if groups == 1 else h.model(g), to, data))
    return files


@checked
def load_model(path: str | os.PathLike, make: Callable[[], nn.Module]) -> nn.Module:
    """The plain network that `make` gives, with a file's numbers, in evaluation.

    A state of what `adapted` made, with its head cut off too, is taken by the network
    that was adapted: `make` may give either.
    """
    try:
        with safe_open(path, "pt") as file:
            state = {name: file.get_tensor(name) for name in file.keys()}
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    model = made_by(make)
    wanted = model.state_dict()
    counted = {n for n in wanted if n.endswith("num_batches_tracked")}  # as PyTorch
    wanted = {n: v for n, v in wanted.items() if n in state or n not in counted}
    state = _whole(state, wanted)
    check_shapes(state, wanted, f"{path} must have")
    model.load_state_dict(state)
    return model.eval()


def _whole(state: Tree, like: Tree) -> Tree:
    """A state cut into features and head, under the names that it had before.

    The head had the one name under which all lie that the features lack.
    """
    features, head = subtree(state, "features"), subtree(state, "head")
    lacks = {n for n in like if n not in features}
    if like.keys() <= state.keys() or len(features) + len(head) < len(state):
        return state
    for at in {n.removesuffix(f".{s}") for n in lacks for s in head}:
        if (named := nest(at, head)).keys() == lacks:
            return features | named
    return state


@checked
class Best:
    """An observer that keeps the models of the round with the highest accuracy.

    Where a world is judged by another metric, it is the highest of that, or the least
    loss. `model()` gives one as `History.model` does; `round` and `score` say when.
    """

    def __init__(self) -> None:
        self.memory: dict = {}

    def __call__(self, now: Round) -> dict:
        name = now.world.judged_by
        score = now.row.get(name, math.nan)
        sign = -1.0 if name == "loss" else 1.0
        if sign * score > sign * self.memory.get(name, -sign * math.inf):
            self.memory |= {"round": now.number, "metric": name, name: score}
            self.memory["states"] = now.after
            self.memory["group_of"] = list(now.group_of)
            self.memory["stayed"] = list(now.stayed)
        return {}

    @property
    def round(self) -> int:
        """The round that they are of."""
        return self._seen("round")

    @property
    def score(self) -> float:
        """The world's metric in that round: accuracy, or its own."""
        return self._seen(self.memory.get("metric", "accuracy"))

    @property
    def accuracy(self) -> float:
        """Test accuracy in that round."""
        name = self.memory.get("metric", "accuracy")
        said = f"the rounds are judged by {name}, not by accuracy: ask for score"
        require(name == "accuracy", said)
        return self.score

    def model(self, group: int | None = None, client: int | None = None) -> Tree:
        """The model of the only group, of a group, or of a client's group."""
        states, group_of = self._seen("states"), self._seen("group_of")
        stayed = tuple(self.memory.get("stayed", ()))
        kept = History("best", 0, states=states, group_of=group_of, stayed=stayed)
        return kept.model(group, client)

    def _seen(self, name: str):
        require(name in self.memory, "no round was judged yet")
        return self.memory[name]


@checked
class OwnModels:
    """An observer that keeps the model by which each client was judged last.

    Those are a personal method's own, as of Ditto, pFedMe, fine-tuning, FedPer, FedRep
    or LG-FedAvg, or else the model of the client's group.
    """

    def __init__(self) -> None:
        self.memory: dict = {}

    def __call__(self, now: Round) -> dict:
        if "loss" in now.row:
            own = now.personal is not None
            self.memory["states"] = now.personal if own else now.after
            every = range(len(now.group_of))
            self.memory["places"] = list(every if own else now.group_of)
        return {}

    @checked
    def model(self, client: Whole) -> Tree:
        """The state of a client's model, for `load_state_dict`."""
        places = self.memory.get("places", [])
        there = f"client must be 0 to {len(places) - 1}, not {client}"
        require(bool(places), "no round was judged yet")
        require(client < len(places), there)
        states, at = self.memory["states"], places[client]
        return {n: v[at].clone() for n, v in states.items()}
