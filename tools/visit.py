"""One page in a browser, as a reader opens it, and checks that list its faults.

Each check takes the visit from `opened` and returns its findings in words, or an empty
list. The tests of the site make one visit of each page, and plant faults in pages of
their own to show that each check finds its fault.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    BrowserContext,
    Locator,
    Page,
    Position,
    TimeoutError,
    ViewportSize,
)

from tools.browser import compressed, is_local

DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
MOST_BYTES = 3_000_000  # of a page with all it loads, compressed
LEVELS = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
AXE = {"runOnly": LEVELS, "preload": False, "resultTypes": ["violations"]}
COLOURS = ["color-contrast", "link-in-text-block"]  # of every text: by far the slowest

# A tab that paints nothing calls no frame, and a fade may never report its end: nothing
# here waits for either without an end of its own.
_FRAME = """new Promise(done => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 1000);
})"""
_READY = """() => document.readyState === 'complete'
    && [...document.querySelectorAll('.fl-frames')].every(
        box => box.querySelector('.fl-stage :is(svg, img)')
            && document.getElementById(box.dataset.pictures))
    && !document.querySelector('script[type*="widget-view"]')"""
_TYPESET = f"""async milliseconds => {{
    const typeset = async () => {{
        if (document.querySelector('.math') && window.MathJax?.startup)
            await MathJax.startup.promise;
        await document.fonts.ready;
        await {_FRAME};
        return true;
    }};
    return Promise.race([
        typeset(), new Promise(done => setTimeout(() => done(false), milliseconds))
    ]);
}}"""
_SQUEEZED = """() => [...document.querySelectorAll('.fl-scroll svg')]
    .filter(svg => svg.getClientRects().length)
    .filter(svg => svg.getBoundingClientRect().width
                   < parseFloat(svg.style.minWidth) - 1)
    .map(svg => svg.getAttribute('aria-label'))"""
# A frame that scrolls sideways, without a sign of it or out of the keyboard's reach.
_HIDDEN = """() => [...document.querySelectorAll('main *')]
    .filter(frame => frame.scrollWidth > frame.clientWidth + 2 && frame.clientWidth
        && ['auto', 'scroll'].includes(getComputedStyle(frame).overflowX)
        && !frame.closest('svg')
        && !(frame.tabIndex === 0 && frame.getAttribute('aria-label')
            && frame.classList.contains('fl-more-right')))
    .map(frame => `scrolls unseen: ${frame.outerHTML.slice(0, 90)}`)"""
SHOWN = """stage => [...stage.querySelectorAll('svg[aria-label], img[alt]')]
    .filter(picture => picture.getClientRects().length)
    .map(picture => picture.getAttribute('aria-label') ?? picture.alt)"""
_INK = "getComputedStyle(document.querySelector('.fl-figure svg, main')).color"


@dataclass
class Visit:
    """An open page, and the browser's complaints about it so far."""

    page: Page
    problems: list[str] = field(default_factory=list)
    loaded: set[str] = field(default_factory=set)  # addresses


@contextmanager
def opened(
    context: BrowserContext, address: str, patience_s: float = 30
) -> Iterator[Visit]:
    """A page once all of it is there: its widgets drawn, its formulas set."""
    page = context.new_page()
    visit = Visit(page)
    said = visit.problems.append
    page.on(
        "console", lambda m: said(f"console: {m.text}") if m.type == "error" else None
    )
    page.on("pageerror", lambda error: said(f"error: {error}"))
    page.on(
        "response", lambda r: said(f"{r.status}: {r.url}") if r.status >= 400 else None
    )
    page.on("request", lambda request: _note(visit, request.url))
    try:
        page.goto(address, wait_until="load")
        try:
            page.wait_for_function(_READY, timeout=patience_s * 1000)
        except TimeoutError:
            said("a widget was not drawn")
        if not page.evaluate(_TYPESET, patience_s * 1000):
            said("its formulas were not set")
        yield visit
    finally:
        page.close()


def _note(visit: Visit, url: str) -> None:
    if not is_local(url):
        visit.problems.append(f"foreign request: {url}")
    elif url.startswith("http"):
        visit.loaded.add(url)


def too_heavy(visit: Visit, site: Path) -> list[str]:
    """The page, if what it has loaded is more than `MOST_BYTES` in transfer."""
    files = {site / urlsplit(url).path.lstrip("/") for url in visit.loaded}
    total = sum(len(compressed(path)) for path in files if path.is_file())
    return [f"{total / 1e6:.2f} MB"] if total > MOST_BYTES else []


_SETTLE = f"""async wanted => {{
    const theme = () => document.documentElement.dataset.theme ?? null;
    const fades = () => document.getAnimations().some(a =>
        a.playState === 'running' && a.effect.getComputedTiming().endTime < 2000
    );
    const patience = performance.now() + 5000;
    await {_FRAME};
    do await {_FRAME}; while (
        (fades() || (theme() !== null && theme() !== wanted))
        && performance.now() < patience
    );
    return theme();
}}"""


def _settled(page: Page, scheme: Any) -> str | None:
    """The page's theme once it has followed the browser's, colours faded over."""
    return page.evaluate(_SETTLE, scheme)


# Of all texts that are painted alike, on grounds that are painted alike, the smallest
# part of the page: where a text stands out too little, so does that one.
_ALIKE = """() => {
    const grounds = new Map(), parts = new Map();
    const ground = part => {
        if (!part) return 'page';
        if (!grounds.has(part)) {
            const s = getComputedStyle(part), flows = ['static', 'relative'];
            const own = [s.backgroundColor, s.backgroundImage, s.opacity].join();
            const clear = own === 'rgba(0, 0, 0, 0),none,1' ? '' : own;
            const apart = flows.includes(s.position) ? '' : grounds.size;
            grounds.set(part, ground(part.parentElement) + clear + apart);
        }
        return grounds.get(part);
    };
    for (const part of document.body.querySelectorAll('*')) {
        const says = [...part.childNodes].some(n => n.nodeType === 3 && n.data.trim());
        if (!says || !part.getClientRects().length) continue;
        const s = getComputedStyle(part), size = part.getElementsByTagName('*').length;
        const around = getComputedStyle(part.parentElement).color;
        const ink = [s.color, around, s.fill, s.textShadow, s.visibility, s.fontSize];
        const key = [...ink, s.fontWeight, ground(part)].join();
        if (size < (parts.get(key)?.size ?? Infinity)) parts.set(key, {part, size});
    }
    return [...parts.values()].map(({part}) => part);
}"""
_VIOLATIONS = f"""async ([rest, colours]) => {{
    const found = [];
    for (const [where, options] of [[document, rest], [({_ALIKE})(), colours]]) {{
        if (!options || where.length === 0) continue;
        for (const {{id, nodes}} of (await axe.run(where, options)).violations)
            found.push(...nodes.map(({{html}}) => `${{id}}: ${{html.slice(0, 120)}}`));
    }}
    return found;
}}"""


def not_accessible(visit: Visit, axe: Path, scheme: Any) -> list[str]:
    """Violations of WCAG 2.1 AA that axe finds in one theme.

    What is no matter of colours is looked for where it is light.
    """
    page = visit.page
    page.emulate_media(color_scheme=scheme)
    if not page.evaluate("() => 'axe' in window"):
        page.add_script_tag(path=axe)
    theme = _settled(page, scheme)
    if theme not in (scheme, None):
        return [f"in a {scheme} browser the page is {theme}"]
    rest = {**AXE, "rules": dict.fromkeys(COLOURS, {"enabled": False})}
    return page.evaluate(
        _VIOLATIONS, [scheme == "light" and rest, {**AXE, "runOnly": COLOURS}]
    )


def not_for_phones(visit: Visit) -> list[str]:
    """Parts that do not fit a narrow screen, or cannot be read on it."""
    page = visit.page
    page.set_viewport_size(PHONE)
    page.evaluate(f"() => {_FRAME}")
    page.evaluate(f"() => {_FRAME}")  # and its marks
    wide = page.evaluate("document.documentElement.scrollWidth")
    found = [f"{wide} px wide"] if wide > PHONE["width"] else []
    found += [f"squeezed: {label}" for label in page.evaluate(_SQUEEZED)]
    found += page.evaluate(_HIDDEN)
    page.set_viewport_size(DESK)
    return found


def stuck_theme(visit: Visit) -> list[str]:
    """Parts that do not change when the reader asks for another theme."""
    page = visit.page
    switch = page.locator("button.theme-switch-button").first
    if not switch.count():
        return ["there is no button that changes the theme"]
    themes, inks = set(), set()
    for _ in range(3):  # auto, light, dark
        themes.add(page.evaluate("document.documentElement.dataset.theme"))
        inks.add(page.evaluate(_INK))
        switch.click()
    found = [] if len(themes) == 2 else [f"themes seen: {sorted(themes)}"]
    return found + ([] if len(inks) == 2 else [f"pictures drawn in {sorted(inks)}"])


def answered(visit: Visit) -> None:
    """Answer the page's questions, which opens the parts that wait for an answer."""
    for box in visit.page.locator(".fl-predict").all():
        box.get_by_role("radio").first.check()


def dead_controls(visit: Visit) -> list[str]:
    """The controls that move no picture, by mouse or by keyboard."""
    found = []
    for widget in visit.page.locator(".fl-frames").all():
        controls = widget.locator(".fl-control").all()
        if not controls:
            found.append("a widget without a control")
        for control in controls:
            others = [other for other in controls if other is not control]
            name = control.locator("label, .fl-name").inner_text()
            for way in (_by_mouse, _by_keyboard):
                if not _moves(widget, control, others, way):
                    how = way.__name__.removeprefix("_").replace("_", " ")
                    found.append(f"{name!r}: nothing moves {how}")
    return found


def dead_players(visit: Visit) -> list[str]:
    """The players that, started, do not change their picture."""
    found = []
    for widget in visit.page.locator(".fl-frames:has(.fl-play)").all():
        before = _shown(widget)
        play = widget.locator(".fl-play")
        play.click()
        try:
            _until_other(widget, before)
        except AssertionError:
            found.append(f"does not play: {before[:80]}")
        if play.get_attribute("aria-label") == "Pause":
            play.click()
    return found


def _until_other(widget: Locator, before: str) -> None:
    stage = widget.locator(".fl-stage")
    for _ in range(40):
        if stage.evaluate(SHOWN) != [before]:
            return
        widget.page.wait_for_timeout(50)
    raise AssertionError(before)


def _shown(widget: Locator) -> str:
    pictures = widget.locator(".fl-stage").evaluate(SHOWN)
    assert len(pictures) == 1, f"{len(pictures)} pictures shown at once"
    return pictures[0]


def _moves(widget: Locator, control: Locator, others: list[Locator], way) -> bool:
    """Whether a control changes the picture, for some position of one other."""
    if _sweep(widget, control, way):
        return True
    return any(
        _by_mouse(other, lambda: _sweep(widget, control, way)) for other in others
    )


def _sweep(widget: Locator, control: Locator, way) -> bool:
    """Whether another picture is shown at some value of the control."""
    _centre(control)
    before = _shown(widget)
    return way(control, lambda: _shown(widget) != before)


def _centre(control: Locator) -> None:
    """Scroll a control away from the page's sticky header, which would take clicks."""
    control.evaluate("element => element.scrollIntoView({block: 'center'})")


def _by_mouse(control: Locator, done: Callable[[], bool]) -> bool:
    """Try the control's values until `done()`; whether that came."""
    if control.locator("select").count():
        select = control.locator("select")
        for label in select.locator("option").all_inner_texts():
            select.select_option(label=label)
            if done():
                return True
        return False
    if control.locator("button").count():
        for button in control.locator("button").all():
            button.click()
            if done():
                return True
        return False
    track = control.locator("input")
    box = track.bounding_box()
    assert box is not None
    for part in (0.99, 0.01, 0.5, 0.75, 0.25):
        position: Position = {"x": part * box["width"], "y": box["height"] / 2}
        track.click(position=position)
        if done():
            return True
    return False


def _by_keyboard(control: Locator, done: Callable[[], bool]) -> bool:
    page = control.page
    if control.locator("button").count():
        for button in control.locator("button").all():
            button.focus()
            page.keyboard.press("Enter")
            if done():
                return True
        return False
    handle = control.locator("input, select")
    handle.focus()
    for key in ["Home", *["ArrowRight"] * 4, "End", *["ArrowLeft"] * 2]:
        page.keyboard.press(key)
        if done():
            return True
    return False
