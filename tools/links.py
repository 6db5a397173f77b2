"""Ask every address that the site links to on other hosts whether it is still there.

    python -m tools.links

Exit code 1 if some are gone: not found, or no such host. A host that refuses machines,
or answers with trouble of its own, is named and does not count.
"""

import argparse
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tools import paths
from tools.site_files import documents, outward_links

GONE = (404, 410)
PATIENCE_S = 20
TRIES = 3
_AGENT = "Mozilla/5.0 (link check)"


def ask(url: str) -> str:
    """ "" if the address answers; "gone: ..." if it is not there; else the trouble."""
    said = ""
    for _ in range(TRIES):
        try:
            with urlopen(
                Request(url, headers={"User-Agent": _AGENT}), None, PATIENCE_S
            ):
                return ""
        except HTTPError as error:
            if error.code in GONE:
                return f"gone: {error.code}"
            said = str(error.code)
            if error.code < 500:
                return said
        except URLError as error:
            said = f"gone: {error.reason}"
        except (OSError, ValueError) as error:
            said = str(error)
    return said


def ask_all(urls: Iterable[str]) -> dict[str, str]:
    """Trouble of each address that did not simply answer, as `ask` words it."""
    every = sorted(urls)
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(ask, every)
    return {url: said for url, said in zip(every, answers, strict=True) if said}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.links", description=__doc__)
    parser.add_argument("site", nargs="?", type=Path, default=paths.site(paths.ROOT))
    site = parser.parse_args(arguments).site
    if not site.is_dir():
        print(f"error: {site} is not there; run `make book` first", file=sys.stderr)
        return 2
    links = outward_links(documents(site))
    trouble = ask_all(links)
    for url, said in trouble.items():
        print(f"{said}  {url}  (on {', '.join(sorted(links[url]))})")
    gone = sum(said.startswith("gone") for said in trouble.values())
    print(f"{len(links)} addresses, {gone} gone, {len(trouble) - gone} unclear")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())
