"""Files that a published site has besides its pages.

A page for addresses that do not exist; for crawlers, robots.txt and, once the site's
address is known, a list of the pages.
"""

import html
import re
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from tools.browser import pages

NOT_FOUND = "404.html"
_UNLISTED = (NOT_FOUND, "index.html", "search.html")
_SEARCHES = "searchtools|scorer|language_data|searchindex"  # what the search needs
_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"


def publish(site: Path, address: str) -> None:
    """Add the files for hosts and crawlers to a built site; `address` may be empty."""
    address = address.rstrip("/")
    search = (site / "search.html").read_text()
    (site / NOT_FOUND).write_text(not_found(search, urlsplit(address).path + "/"))
    said = "User-agent: *\nAllow: /\n"
    if address:
        listed = [name for name in pages(site) if name not in _UNLISTED]
        (site / "sitemap.xml").write_text(sitemap(listed, address))
        said += f"Sitemap: {address}/sitemap.xml\n"
    (site / "robots.txt").write_text(said)


def not_found(search: str, root: str) -> str:
    """A page like the others, shown at whatever address was asked for.

    Args:
        search: the page with the search, which has the theme and little else.
        root: where the site begins on its host; links to `/...` need it.
    """
    said = (
        "<h1>There is no such page</h1>\n<p>It may have moved. "
        '<a href="notebooks/index.html">Begin at the first page</a>, or '
        '<a href="search.html">search the book</a>.</p>'
    )
    page = re.sub(
        r'(<div class="bd-search-container">).*?</div>\s*<script>.*?</script>',
        lambda found: f"{found[1]}\n{said}\n</div>",
        search,
        count=1,
        flags=re.DOTALL,
    )
    page = re.sub(rf"<script [^>]*({_SEARCHES})[^>]*></script>", "", page)
    page = re.sub(r"<title>.*?</title>", "<title>Not found</title>", page)
    page = page.replace("</head>", '<meta name="robots" content="noindex" />\n</head>')
    page = page.replace('data-content_root="./"', f'data-content_root="{root}"')
    return re.sub(
        r'(?<=[ \n])(href|src|action)="(?!#|[a-z]+:)([^"]*)"',
        lambda found: f'{found[1]}="{urljoin(root, found[2])}"',
        page,
    )


def sitemap(names: list[str], address: str) -> str:
    places = (f"<url><loc>{html.escape(f'{address}/{n}')}</loc></url>" for n in names)
    inside = "\n".join(places)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="{_SITEMAP}">\n{inside}\n</urlset>\n'
    )
