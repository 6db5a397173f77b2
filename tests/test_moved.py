"""Old addresses of pages: each leads to the page where it is now."""

from pathlib import Path

import pytest

from tools import moved, paths
from tools.browser import pages


def site(root: Path, names: list[str]) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<p>here</p>")
    return root


def test_an_old_address_leads_on_and_is_no_page(tmp_path):
    present = sorted({*moved.MOVED.values()})
    moved.write(site(tmp_path, present))
    for old, new in moved.MOVED.items():
        said = (tmp_path / old).read_text()
        to = f"{'../' * old.count('/')}{new}"
        assert f'content="0; url={to}"' in said and f'<a href="{to}">' in said
        assert (tmp_path / old).parent.joinpath(to).resolve() == tmp_path / new
    assert pages(tmp_path) == present


def test_an_address_that_leads_nowhere_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="leads to .*: not a page"):
        moved.write(tmp_path)


def test_no_page_of_ours_stands_at_an_old_address():
    for old in moved.MOVED:
        assert not (paths.ROOT / old).with_suffix(".ipynb").exists()
