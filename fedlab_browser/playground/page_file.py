"""The playground in one page that needs no server: what a notebook shows of it.

Everything that the page asks for is packed into it, and unpacked by `page/whole.js`.
The rules' programs are traced once, which takes a minute, and kept beside the data sets
until the packages change.
"""

import base64
import gzip
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import wasmtime
from jinja2 import StrictUndefined, Template
from tqdm import tqdm

import fedlab_browser
import fedlab_core
from fedlab_browser.playground import export
from fedlab_core.atomic_files import replacing, writable
from fedlab_core.data import data_root

# Scripts, each behind those that it imports; then what the page runs, or the worker.
_SCRIPTS = ("tensors", "keys", "files", "federation")
_IMPORT = re.compile(r'^import (\{.*?\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(
    r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE
)


@cache
def _page() -> Any:
    """The macros of the page: the whole of it, and the frame that shows it."""
    text = (export.PAGE / "page.html").read_text()
    looks = {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined}
    return Template(text, autoescape=True, **looks).module


class Page:
    """The playground, to be shown in a notebook or saved as a page of its own."""

    def __init__(
        self, make: Callable[[], Mapping[str, bytes]], options: dict, before: str = ""
    ):
        self._make, self.options, self.before = make, options, before

    @cached_property
    def data(self) -> Mapping[str, bytes]:
        """Files that the page asks for, made once it is to be shown."""
        return self._make()

    def html(self) -> str:
        """The whole page."""
        files = {f"data/{n}": content for n, content in self.data.items()}
        files["simd.wasm"] = scripts()["simd.wasm"]
        files["worker.js"] = bundled(*_SCRIPTS, "worker").encode()
        packed = {name: _packed(content) for name, content in files.items()}
        unpack = (export.PAGE / "whole.js").read_text()
        page = _page().whole(
            style=scripts()["playground.css"].decode(),
            options=json.dumps(self.options),
            before=self.before,
            files=json.dumps(packed, separators=(",", ":")),
            unpack=bundled(*_SCRIPTS, "pictures", "playground") + f"\n{unpack}",
        )
        return str(page)

    def _repr_html_(self) -> str:
        return str(_page().framed(self.html()))

    def save(self, path: str | os.PathLike, force: bool = False) -> Path:
        """Write the page to a file, which a browser opens as it is."""
        to = writable(path, "path", force)
        with replacing(to) as file:
            file.write(self.html().encode())
        return to


def bundled(*names: str) -> str:
    """Modules as one plain script: each in a function that gives what it exports.

    Browsers let a page that lies in a file, or in a frame, begin no worker of modules.
    """
    parts = []
    for name in names:
        text = scripts()[f"{name}.js"].decode()
        text = text.replace("import.meta.url", "location.href")
        exports = ", ".join(match[2] for match in _EXPORT.finditer(text))
        body = _EXPORT.sub(r"\1", _IMPORT.sub(r"const \1 = $\2;", text))
        parts.append(
            f"const ${name} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"
        )
    return "\n".join(parts)


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


@cache
def scripts() -> dict[str, bytes]:
    """The page's scripts and looks, and its fast loops."""
    found = {
        path.name: path.read_bytes()
        for path in sorted(export.PAGE.iterdir())
        if path.suffix in (".js", ".css") and path.name != "whole.js"
    }
    loops = (export.PAGE / "simd.wat").read_text()
    return found | {"simd.wasm": bytes(wasmtime.wat2wasm(loops))}


def kept(root: str | os.PathLike | None = None) -> dict[str, bytes]:
    """Files of rules, choices and divisions; made at the first use."""
    folder = data_root(root) / f"playground-{fingerprint()[:16]}"
    names = export.names()
    if not all((folder / n).is_file() for n in names):
        what = "tracing the rules (once)"
        bar = tqdm(total=len(names), desc=what, unit="file", disable=_quiet())
        with bar:
            export.write(folder, lambda name: bar.update())
    return {n: (folder / n).read_bytes() for n in names}


def _quiet() -> bool:
    return os.environ.get("FEDLAB_PROGRESS") == "0"


@cache
def fingerprint() -> str:
    """Digest of everything that the exported files are made by: no script is."""
    digest = hashlib.sha256()
    for package in (fedlab_core, fedlab_browser):
        folder = Path(str(package.__file__)).parent
        for path in sorted(folder.rglob("*")):
            apart = "__pycache__" in path.parts or export.PAGE in path.parents
            if path.is_file() and not apart:
                digest.update(path.read_bytes())
    return digest.hexdigest()
