"""A cell's trained model as files: the weights as safetensors, and their card.

A folder holds one file a group, and README.md, the card, as model hubs read it: a YAML
head, then what was trained, how well it does and what it is not for.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from fedlab_core.errors import InputError, require
from fedlab_core.metrics import evaluate, evaluate_own
from fedlab_core.models import Split
from fedlab_core.rounds.history import History
from fedlab_core.rounds.method import nothing
from fedlab_core.rounds.worlds import World
from fedlab_core.tree import Tree, repeat, take
from fedlab_ledger.build import data_of, network_of
from fedlab_ledger.card import CARD, LIBRARY, PERSONAL, GroupModel, card_of
from fedlab_ledger.cells import Cell, Setting
from fedlab_ledger.player import alone, trained
from fedlab_ledger.store import Line

FORMAT = 1


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
    scale: str,
    seed: int,
    out: Path,
    *,
    device: str = "cpu",
    force: bool = False,
    line: Line | None = None,
) -> list[Path]:
    """Train a cell's run, write its models and their card into a folder.

    The folder is written whole or not at all. `line` is what a ledger has of the same
    run, to be named beside the number that comes out here.
    """
    lacks = f"{cell.name} has no {scale} scale: {cell.lacks}"
    require(scale in cell.settings, lacks)
    out = out.resolve()
    _check_target(out, force)
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
    _write(out, content | {CARD: card.encode()})
    return [out / name for name in (*content, CARD)]


def load(path: str | Path) -> Split:
    """The network of an exported file, ready to be used; nothing is unpickled."""
    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {})["fedlab"])
            state = {name: file.get_tensor(name) for name in file.keys()}
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        raise InputError(f"{path} is not an exported model: {error}") from None
    known = about.get("format") == FORMAT
    require(
        known, f"{path}: format {about.get('format')!r}, but {FORMAT} is known only"
    )
    setting = Setting(**about["setting"])
    net = network_of(setting, tuple(about["shape"]), len(about["classes"]))()
    net.load_state_dict(state)
    return net.eval()


def _weights(model: GroupModel, about: dict[str, Any]) -> bytes:
    tensors = {n: v.detach().cpu().contiguous() for n, v in model.state.items()}
    more = {"clients": list(model.clients), "accuracy": model.accuracy}
    return save(tensors, {"format": "pt", "fedlab": json.dumps(about | more)})


def _check_target(out: Path, force: bool) -> None:
    """Refuse to lose anything but an export that is to be replaced."""
    require(out.parent.is_dir(), f"--out: there is no folder {out.parent}")
    if not out.exists():
        return
    require(out.is_dir(), f"--out: {out} is a file, give a folder")
    names = [p.name for p in out.iterdir()]
    if not names:
        return
    require(force, f"--out: {out} exists: use --force to replace it")
    strange = [n for n in names if n != CARD and not n.endswith(".safetensors")]
    ours = CARD in names and LIBRARY in (out / CARD).read_text()
    safe = ours and not strange
    require(safe, f"--out: {out} is not an export: nothing in it is replaced")


def _write(out: Path, files: dict[str, bytes]) -> None:
    """Write a folder whole, or leave it as it was."""
    with TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as beside:
        new, old = Path(beside) / "new", Path(beside) / "old"
        new.mkdir()
        for name, content in files.items():
            with open(new / name, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        if out.exists():
            out.rename(old)
        try:
            new.rename(out)
        except OSError:
            if old.exists():
                old.rename(out)
            raise
