"""The built site in a headless Chromium that can reach nothing else."""

import gzip
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, sync_playwright

from tools.moved import MOVED

PACKED = (".woff", ".woff2", ".png", ".webp")  # what is compressed already
NAMES = ("chromium", "chromium-browser", "google-chrome")
# A browser started for a test asks for nothing on its own account.
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser, closed on leaving."""
    path = find_chromium()
    if path is None:
        raise FileNotFoundError(f"no browser on PATH; looked for {', '.join(NAMES)}")
    # Chromium refuses to run its sandbox as root.
    flags = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served(folder: Path, pack: bool = False) -> Iterator[str]:
    """The address of a server of `folder` on a free local port, stopped on leaving.

    Args:
        pack: send text compressed, as the hosts of static pages do.
    """
    kind = _PackingHandler if pack else _QuietHandler
    handler = partial(kind, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def pages(folder: Path) -> list[str]:
    """Every page of a built site, as a path below it, but those that lead on."""
    found = (path.relative_to(folder) for path in folder.rglob("*.html"))
    names = sorted(p.as_posix() for p in found if p.parts[0] != "_static")
    return [name for name in names if name not in MOVED]


def is_local(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("data", "blob") or parts.hostname == "127.0.0.1"


@cache
def compressed(path: Path) -> bytes:
    """A file as a host would send it: text packed, pictures and fonts as they are."""
    content = path.read_bytes()
    return content if path.suffix in PACKED else gzip.compress(content, 6)


class _QuietHandler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # one connection for many files

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the tests report what failed."""


class _PackingHandler(_QuietHandler):
    """Sends text compressed, as the hosts of static pages do."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file() or path.suffix in PACKED:
            return super().do_GET()
        content = compressed(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
