"""The weekly question whether what the site links to elsewhere is still there."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools import links


class _Answers(BaseHTTPRequestHandler):
    """A host that answers with the number it is asked for; 500 only twice."""

    troubled = 0

    def do_GET(self) -> None:
        code = int(self.path.strip("/"))
        if code == 500:
            _Answers.troubled += 1
            code = 500 if _Answers.troubled <= 2 else 200
        self.send_response(code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def write(folder: Path, *addresses: str) -> Path:
    links = "".join(f'<a href="{address}">there</a>' for address in addresses)
    (folder / "page.html").write_text(f"<p>{links}<a href='#here'>here</a></p>")
    return folder


def test_all_there(host, tmp_path, capsys):
    assert links.main([str(write(tmp_path, f"{host}/200", f"{host}/200#x"))]) == 0
    assert capsys.readouterr().out == "1 addresses, 0 gone, 0 unclear\n"


def test_what_is_gone_is_named_with_its_page(host, tmp_path, capsys):
    site = write(tmp_path, f"{host}/200", f"{host}/404", f"{host}/403")
    assert links.main([str(site)]) == 1
    said = capsys.readouterr().out
    assert f"gone: 404  {host}/404  (on page.html)" in said
    assert f"403  {host}/403" in said and "1 gone, 1 unclear" in said


def test_trouble_that_passes_is_none(host):
    assert links.ask(f"{host}/500") == ""


def test_no_such_host_is_gone():
    assert links.ask("http://nobody.invalid/").startswith("gone: ")


def test_without_a_site_it_says_so(tmp_path, capsys):
    assert links.main([str(tmp_path / "none")]) == 2
    assert "run `make book` first" in capsys.readouterr().err
