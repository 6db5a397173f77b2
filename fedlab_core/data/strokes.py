"""The built-in task: ten stroke letters under clutter, 14 x 14 pixels, no download.

Made so that the effects of the five papers can be seen on a laptop in seconds, which
the usual small sets (8 x 8 digits, say) do not allow: they are learnt too fast and
too well. Every image is one letter drawn with random slant, size, place and pen width,
two stray strokes, and pixel noise. Three knobs set how hard it is and how clients can
differ:

- `noise`, the standard deviation of the pixel noise in units of the pen's darkness;
- `angle`, a rotation in degrees applied before drawing (feature shift);
- the labels, which a caller may permute (concept shift).

A letter is a polyline in [-1, 1]^2 with y pointing down, of at most four segments.
"""

import numpy as np

SIZE = 14
_L, _R, _T, _B = -0.8, 0.8, -1.0, 1.0
STROKES: dict[str, list[tuple[float, float, float, float]]] = {
    "L": [(-0.7, _T, -0.7, _B), (-0.7, _B, 0.7, _B)],
    "T": [(_L, _T, _R, _T), (0, _T, 0, _B)],
    "V": [(_L, _T, 0, _B), (0, _B, _R, _T)],
    "Z": [(_L, _T, _R, _T), (_R, _T, _L, _B), (_L, _B, _R, _B)],
    "X": [(_L, _T, _R, _B), (_R, _T, _L, _B)],
    "H": [(_L, _T, _L, _B), (_R, _T, _R, _B), (_L, 0, _R, 0)],
    "U": [(_L, _T, _L, _B), (_L, _B, _R, _B), (_R, _B, _R, _T)],
    "F": [(0.7, _T, -0.7, _T), (-0.7, _T, -0.7, _B), (-0.7, 0, 0.4, 0)],
    "Y": [(_L, _T, 0, 0), (0, 0, _R, _T), (0, 0, 0, _B)],
    "K": [(-0.7, _T, -0.7, _B), (0.8, _T, -0.7, 0), (-0.7, 0, 0.8, _B)],
}
CLASSES = tuple(STROKES)

# Pixels are stored as uint8 over [LOW, HIGH], wide enough for three sigmas of noise.
LOW, HIGH = -1.0, 2.0
# A learner sees (pixel - .25) / .5; in units of the stored byte / 255 that is:
MEAN = (0.25 - LOW) / (HIGH - LOW)
STD = 0.5 / (HIGH - LOW)


def _segments(labels: np.ndarray, angle: np.ndarray, rng: np.random.Generator):
    """Letter strokes in pixel coordinates: (n, 4, 2 ends, 2), absent ones NaN."""
    table = np.full((len(CLASSES), 4, 2, 2), np.nan)
    for c, strokes in enumerate(STROKES.values()):
        table[c, : len(strokes)] = np.array(strokes).reshape(-1, 2, 2)
    n = len(labels)
    scale = SIZE * (0.29 + rng.uniform(-0.06, 0.06, (n, 2)))
    shear = rng.uniform(-0.25, 0.25, n)
    turn = np.deg2rad(angle) + rng.uniform(-0.3, 0.3, n)
    centre = (SIZE - 1) / 2 + SIZE * rng.uniform(-0.1, 0.1, (n, 2))
    slant = np.zeros((n, 2, 2))
    slant[:, 0, 0], slant[:, 1, 1] = scale.T
    slant[:, 0, 1] = shear * scale[:, 1]
    rotate = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    matrix = np.moveaxis(rotate, -1, 0) @ slant
    points = np.einsum("nij,nsej->nsei", matrix, table[labels])
    return points + centre[:, None, None, :]


def _clutter(n: int, strokes: int, rng: np.random.Generator) -> np.ndarray:
    """Stray strokes anywhere in the image: (n, strokes, 2 ends, 2)."""
    start = rng.uniform(0, SIZE - 1, (n, strokes, 2))
    direction = rng.uniform(0, 2 * np.pi, (n, strokes))
    length = 4 * (0.75 + rng.uniform(-0.5, 0.5, (n, strokes)))
    step = length[..., None] * np.stack([np.cos(direction), np.sin(direction)], -1)
    return np.stack([start, start + step], axis=2)


def _draw(segments: np.ndarray, ink: np.ndarray, pen: np.ndarray) -> np.ndarray:
    """Darkest stroke at every pixel, with a Gaussian pen profile: (n, SIZE, SIZE)."""
    row, column = np.mgrid[:SIZE, :SIZE].reshape(2, -1).astype(np.float32)
    begin = segments[:, :, 0].astype(np.float32)[..., None]
    along = (segments[:, :, 1] - segments[:, :, 0]).astype(np.float32)[..., None]
    (x, y), (dx, dy) = np.moveaxis(begin, 2, 0), np.moveaxis(along, 2, 0)
    off_x, off_y = column - x, row - y
    t = np.clip((off_x * dx + off_y * dy) / (dx**2 + dy**2), 0, 1)
    gap = (off_x - t * dx) ** 2 + (off_y - t * dy) ** 2
    spread = (-0.5 / pen**2).astype(np.float32)[:, None, None]
    value = ink.astype(np.float32)[..., None] * np.exp(gap * spread)
    return np.fmax.reduce(value, axis=1).reshape(-1, SIZE, SIZE)


def letters(
    n: int,
    *,
    seed: int = 0,
    noise: float = 0.35,
    angle: float | np.ndarray = 0.0,
    clutter: int = 2,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw n images, classes balanced and shuffled: uint8 (n, 14, 14) and labels (n,).

    `angle` is one number or one per image, in degrees. Same arguments, same bytes.
    """
    rng = np.random.default_rng([seed, 0x1E77E2])
    labels = rng.permutation(np.arange(n) % len(CLASSES))
    angles = np.broadcast_to(np.asarray(angle, dtype=float), (n,))
    images = np.empty((n, SIZE, SIZE), dtype=np.uint8)
    for first in range(0, n, 4096):
        part = slice(first, min(n, first + 4096))
        here = labels[part]
        strokes = _segments(here, angles[part], rng)
        stray = _clutter(len(here), clutter, rng)
        pen = 0.6 + rng.uniform(-0.15, 0.15, len(here))
        own = np.repeat(0.9 + rng.uniform(-0.2, 0.2, (len(here), 1)), 4, axis=1)
        other = 0.8 + rng.uniform(-0.2, 0.2, (len(here), clutter))
        ink = np.concatenate([own, other], axis=1)
        picture = _draw(np.concatenate([strokes, stray], axis=1), ink, pen)
        picture = picture + noise * rng.standard_normal(picture.shape)
        byte = 255 * (np.clip(picture, LOW, HIGH) - LOW) / (HIGH - LOW)
        images[part] = np.rint(byte)
    return images, labels.astype(np.int64)
