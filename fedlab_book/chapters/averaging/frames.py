"""The images, and one round in four pictures: one model goes out, ten come back."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from fedlab_book.draw import tiles
from fedlab_book.figures import INK, LETTERS, PALETTE
from fedlab_book.panels import Panel
from fedlab_browser.playground.task import divided, letters

_SERVER, _CLINIC = 2.35, 1.15  # heights of the server's model and of the clinics'
_WALK = 0.33  # how far a model goes in the picture
TITLES = ("1. send", "2. train, alone", "3. send back", "4. average")
SAID = (
    "The server's model, a dot, goes to all ten clinics",
    "each clinic's dot moves off in a direction of its own",
    "the ten dots go to the server",
    "there the dot in their middle is the new model",
)


def noisy(many: int = 6) -> Panel:
    """One image each of the first letters, from the playground's."""
    data = letters()
    first = [int(np.flatnonzero(data.y_train == c)[0]) for c in range(many)]
    high, wide = data.shape[-2:]
    images, names = data.x_train[first].reshape(many, high, wide), data.classes[:many]

    def draw(ax: Axes) -> None:
        tiles(ax, images)
        ax.set(xlim=(-1, many * (wide + 2) - 1), ylim=(high, 0), yticks=[])
        ax.set_xticks([k * (wide + 2) + wide / 2 for k in range(many)], names)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)

    said = f"{many} noisy images, of the letters {', '.join(names)}."
    return Panel(draw, said, high=110)


def four() -> list[Panel]:
    """Pictures of a round, over bars of the images that the playground deals out."""
    counts = divided("dirichlet", 10, 0.1, 0).counts
    turned = np.linspace(0, 2 * np.pi, len(counts), endpoint=False) * 3 + 0.4
    ways = _WALK * np.stack([np.cos(turned), np.sin(turned)], axis=1)
    pictures: list[Callable[[Axes], None]] = [
        lambda ax: _sent(ax, np.zeros_like(ways), down=True),
        lambda ax: _trained(ax, ways),
        lambda ax: _sent(ax, ways, down=False),
        lambda ax: _averaged(ax, ways),
    ]

    def panel(i: int) -> Panel:
        def draw(ax: Axes) -> None:
            pictures[i](ax)
            _bars(ax, counts)
            ax.set(title=TITLES[i], xlim=(-0.6, len(counts) - 0.4), ylim=(-0.1, 2.8))
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)

        return Panel(draw, f"{TITLES[i]}: {SAID[i]}.", high=215)

    return [panel(i) for i in range(4)]


def _bars(ax: Axes, counts: np.ndarray) -> None:
    """Draw a standing bar a clinic, a part a letter."""
    part = 0.75 * counts / counts.sum(1).max()
    below = np.zeros(len(counts))
    for c, heights in enumerate(part.T):
        ax.bar(range(len(counts)), heights, 0.7, below, color=LETTERS[c % 10])
        below += heights


def _places(ways: np.ndarray) -> np.ndarray:
    """Places of the clinics' models after such ways."""
    return np.stack([np.arange(len(ways)), np.full(len(ways), _CLINIC)], 1) + ways


def _middle(ways: np.ndarray) -> np.ndarray:
    return np.array([(len(ways) - 1) / 2, _SERVER])


def _arrow(ax: Axes, start: np.ndarray, end: np.ndarray, **style: object) -> None:
    look = {"arrowstyle": "-|>", "color": INK, "lw": 1, "shrinkA": 5, "shrinkB": 5}
    ax.annotate("", (end[0], end[1]), (start[0], start[1]), arrowprops=look | style)


def _server(ax: Axes, at: np.ndarray) -> None:
    ax.plot(*at, "o", color=PALETTE["blue"], markersize=12)
    ax.text(at[0] + 0.6, at[1] + 0.12, "server", va="center")


def _sent(ax: Axes, ways: np.ndarray, down: bool) -> None:
    middle = _middle(ways)
    for place in _places(ways):
        _arrow(ax, *((middle, place) if down else (place, middle)), alpha=0.6)
    colour = PALETTE["blue"] if down else PALETTE["orange"]
    ax.plot(*_places(ways).T, "o", color=colour, markersize=6)
    if down:
        _server(ax, middle)
    else:
        ax.text(middle[0] + 0.6, middle[1] + 0.12, "server", va="center")


def _trained(ax: Axes, ways: np.ndarray) -> None:
    begun = _places(np.zeros_like(ways))
    for start, end in zip(begun, _places(ways), strict=True):
        _arrow(ax, start, end, shrinkA=0, shrinkB=0)
    ax.plot(*begun.T, "o", color=PALETTE["blue"], markersize=5)
    ax.plot(*_places(ways).T, "o", color=PALETTE["orange"], markersize=6)
    ax.text(_middle(ways)[0] + 0.6, _SERVER + 0.12, "server", va="center")


def _averaged(ax: Axes, ways: np.ndarray) -> None:
    middle = _middle(ways)
    wide = np.array([5.0, 1.3])  # the clinics' dots, larger than where they were made
    came = middle - np.array([0, 0.45]) + ways * wide
    mean = came.mean(0)
    for place in came:
        _arrow(ax, place, mean, alpha=0.5)
    ax.plot(*came.T, "o", color=PALETTE["orange"], markersize=6)
    ax.plot(*mean, "o", color=PALETTE["blue"], markersize=12)
    ax.text(middle[0] + 2.2, middle[1] + 0.12, "server", va="center")
