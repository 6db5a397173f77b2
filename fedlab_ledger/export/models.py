"""A cell's trained model as files: the weights as safetensors, and their card.

A folder holds one file a group, and README.md, the card, as model hubs read it: a YAML
head, then the training, the accuracy and the limits of the model.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from fedlab_core.data.files import reason
from fedlab_core.errors import InputError, require
from fedlab_core.metrics import evaluate, evaluate_own
from fedlab_core.models import Split
from fedlab_core.rounds.history import History
from fedlab_core.rounds.method import nothing
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, repeat, take
from fedlab_ledger.export.card import CARD, PERSONAL, GroupModel, card_of
from fedlab_ledger.export.folders import FORMAT, read, replace_folder, target
from fedlab_ledger.model.cells import Cell, Scale, Setting
from fedlab_ledger.model.lines import Line
from fedlab_ledger.run.build import data_of, network_of
from fedlab_ledger.run.jobs import alone
from fedlab_ledger.run.player import trained

LARGEST = 2**24  # numbers of a sample, or of a tensor of usual size


def accuracy_of(world: World, state: Tree, clients: Sequence[int]) -> float:
    """A model's accuracy on the whole test set, or the mean over its clients' own."""
    if world.tests is None:
        one = {n: v[None] for n, v in state.items()}
        told = evaluate(
            world.model, one, world.x_test, world.y_test, len(world.classes)
        )
        return float(told.accuracy[0])
    lists = [world.tests[k] for k in clients]
    states = repeat(state, len(lists))
    own = evaluate_own(world.model, states, world.x_test, world.y_test, lists)
    return float(own.accuracy.nanmean())


def models_of(world: World, h: History) -> list[GroupModel]:
    """The model of every group that has a client."""
    groups = sorted(set(h.group_of))
    made = []
    for g in groups:
        clients = tuple(k for k, home in enumerate(h.group_of) if home == g)
        state = take(h.states, g)
        name = "model" if len(groups) == 1 else f"model-{g}"
        accuracy = accuracy_of(world, state, clients)
        made.append(GroupModel(f"{name}.safetensors", state, clients, accuracy))
    return made


def export(
    cell: Cell,
    scale: Scale,
    seed: int,
    out: Path,
    *,
    device: str = "cpu",
    force: bool = False,
    line: Line | None = None,
) -> list[Path]:
    """Train a cell's run, write its models and their card into a folder.

    The folder is written whole or not at all. `line` is the ledger's line of the same
    run, to be shown beside the number that comes out here.
    """
    lacks = f"{cell.name} has no {scale} scale: {cell.lacks}"
    require(scale in cell.settings, lacks)
    out = target(out, force)
    (mine, *_), (run, *_), (h, *_) = trained(alone(cell, scale, [seed]), device)
    require(not h.diverged, f"{cell.name}: diverged in round {h.diverged_at}")
    setting, models = cell.settings[scale], models_of(run.world, h)
    data = data_of(setting)
    about = {"format": FORMAT, "cell": cell.name, "scale": scale, "seed": seed}
    about |= {"key": cell.key(scale), "setting": setting.plain()}
    about |= {"shape": list(data.shape), "classes": list(data.classes)}
    about |= {"mean": list(data.mean), "std": list(data.std)}
    about |= {n: mine[n] for n in ("device", "torch", "threads", "commit")}
    content = {m.file: _weights(m, about) for m in models}
    own = run.world.tests is not None
    card = card_of(cell, about, models, own, mine["value"], line)
    if run.method.personal is not nothing:
        card += PERSONAL
    replace_folder(target(out, force), content | {CARD: card.encode()})
    return [out / name for name in (*content, CARD)]


def _weights(model: GroupModel, about: dict[str, Any]) -> bytes:
    tensors = {n: v.detach().cpu().contiguous() for n, v in model.state.items()}
    more = {"clients": list(model.clients), "accuracy": model.accuracy}
    return save(tensors, {"format": "pt", "fedlab": json.dumps(about | more)})


def load(path: str | Path) -> Split:
    """The network of an exported file, ready to be used; nothing is unpickled."""
    try:
        about, state = read(Path(path))
        setting, shape = Setting(**about["setting"]), tuple(about["shape"])
        _check_size(setting, shape, state)
        make = network_of(setting, shape, len(about["classes"]))
        with torch.device("meta"):
            wanted = make().state_dict()
        for name in sorted(wanted.keys() | state.keys()):
            found, needed = (_kind(tree.get(name)) for tree in (state, wanted))
            require(found == needed, f"{name} is {found}, not {needed}")
        net = make()
        net.load_state_dict(state)
    except Exception as error:  # what is in a file may be wrong in any way
        lacks = "it lacks " if isinstance(error, KeyError) else ""
        why = f"{lacks}{reason(error)}"
        raise InputError(f"{path} is not an exported model: {why}") from None
    return net.eval()


def _kind(values: Tensor | None) -> str:
    """Type and shape of a tensor, which a network and a file must share."""
    return "not there" if values is None else f"{values.dtype} {tuple(values.shape)}"


def _check_size(setting: Setting, shape: tuple, state: Tree) -> None:
    """Refuse sizes in the file that its own tensors cannot account for."""
    whole = all(type(n) is int and n >= 1 for n in shape)
    require(whole and math.prod(shape) <= LARGEST, f"samples of shape {shape!r:.60}")
    numbers = max(LARGEST, *(v.numel() for v in state.values()))
    for name, given in setting.network.items():
        each = given if isinstance(given, list) else [given]
        most = len(state) if name in ("depth", "blocks") else numbers
        sizes = [n for n in each if isinstance(n, int)]
        sound = len(each) <= len(state) and max(sizes, default=0) <= most
        require(sound, f"{name}={given!r:.60} of a network of {len(state)} tensors")
