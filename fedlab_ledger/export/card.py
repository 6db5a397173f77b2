"""Card of exported models, as model hubs read it: a YAML head, then a description."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedlab_core.tree import Tree
from fedlab_ledger.model.cells import Cell
from fedlab_ledger.model.lines import Line
from fedlab_ledger.model.terminal import printable

CARD = "README.md"
LIBRARY = "library_name: fedlab-core"


@dataclass(frozen=True)
class GroupModel:
    """A group's model, its clients, and its accuracy."""

    file: str
    state: Tree
    clients: tuple[int, ...]
    accuracy: float


PERSONAL = """
What clients of this method keep for themselves, and are judged by, is not here: only
what the server has.
"""

_TEXT = """\
---
license: mit
library_name: fedlab-core
pipeline_tag: other
tags: {tags}
datasets: {datasets}
metrics: ["accuracy"]
---

# {title}

What one cell of “Who Counts?” ends with: {cell}, at scale {scale}, seed {seed}.

| file | clients | accuracy |
|---|---|---|
{rows}

The accuracy is that of the file's model {where}, in %.
{numbers}

## How it was trained

Key `{key}`, commit `{commit}`, PyTorch {torch}, {device}, {threads} thread(s). The
setting, which with the seed says everything:

```json
{setting}
```

## How to use it

```python
from fedlab_ledger.export.models import load

net = load("{first}")  # no pickle: weights and plain data
```

It takes {takes}, and gives a score for each of {classes} classes:
{names}.

## Intended use

To look into, to compare with, or to go on from a result of this book. The same command
at the same commit makes the same model:

```bash
{command}
```

## Limits

- It is no better than its data and its scale: `tiny` is a smoke test, `small` a part of
  the published setting, and only `paper` is that.
- It was judged on its own kind of test samples alone: nothing is known of other
  data, of fairness towards people, or of what an attacker can do.
- A federation was simulated: no client was private here.

## Licence

MIT, as the programs that made it. The data and the methods have terms and authors of
their own: cite the paper it comes from.
"""


def card_of(
    cell: Cell,
    about: dict[str, Any],
    models: Sequence[GroupModel],
    own: bool,
    value: float | None,
    line: Line | None,
) -> str:
    """The card of a folder of models."""
    setting, scale = about["setting"], about["scale"]
    rows = [
        f"| {m.file} | {_ranges(m.clients)} | {100 * m.accuracy:.2f} |" for m in models
    ]
    mean = "on its clients' own tests, the mean over them"
    numbers = [
        f"The cell's number, “{cell.metric}” of the whole run: {value} {cell.unit}."
    ]
    if line is not None:
        numbers.append(f"The ledger has {line['value']} ({printable(line['device'])}).")
    if cell.paper_value is not None:
        where = f" ({cell.where})" if cell.where else ""
        numbers.append(
            f"The paper, at its own scale, reports {cell.paper_value:g}{where}."
        )
    scaled = [", ".join(f"{v:.4g}" for v in about[n]) for n in ("mean", "std")]
    pixels = f"less a mean of {scaled[0]}, over a deviation of {scaled[1]}"
    pixels += " (images: of bytes / 255)"
    tags = ["federated-learning", setting["method"], cell.paper]
    command = f"python -m fedlab_core export {cell.paper}/{cell.table} --scale {scale}"
    command += f" --seed {about['seed']} \\\n    --row {shlex.quote(cell.row)}"
    command += f" --column {shlex.quote(cell.column)} --out DIR"
    return _TEXT.format(
        **{n: about[n] for n in ("scale", "seed", "key", "commit", "torch", "device")},
        threads=about["threads"],
        tags=json.dumps(list(dict.fromkeys(tags))),
        datasets=json.dumps([setting["dataset"]]),
        title=f"{cell.row}, {cell.column} ({cell.paper}/{cell.table})",
        cell=cell.name,
        rows="\n".join(rows),
        where=mean if own else "on the whole test set",
        numbers="\n".join(numbers),
        setting=_plain(setting),
        first=models[0].file,
        takes=f"batches of shape (N, {', '.join(map(str, about['shape']))}), {pixels}"
        if about["mean"]
        else "batches of words, as integers",
        classes=len(about["classes"]),
        names=", ".join(about["classes"]),
        command=command,
    )


def _plain(setting: dict[str, Any]) -> str:
    """A setting as JSON, one line an option."""
    options = (f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in setting.items())
    return "{\n" + ",\n".join(options) + "\n}"


def _ranges(clients: Sequence[int]) -> str:
    """Client ids in short: 0–4, 7."""
    runs: list[list[int]] = []
    for k in clients:
        if runs and k == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], k]
        else:
            runs.append([k])
    return ", ".join("–".join(map(str, r)) for r in runs)
