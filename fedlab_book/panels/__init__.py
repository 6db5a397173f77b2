"""The panels that chapters and companion pages are drawn with, and their words.

    drawn(
        course({"FedAvg": curves}, label="test accuracy (%)"),
        gains([Row("γ = 0.93", over_fedavg)]),
        caption="...",
    )

A panel is drawn into axes, and has in words what they show: the picture's text is made
of them. Two stand side by side, and can be read on a phone.
"""

from fedlab_book.panels.curves import course, strip, sweep
from fedlab_book.panels.maps import grid, scatter, triangle
from fedlab_book.panels.panel import Panel, drawn, picture
from fedlab_book.panels.rows import bars, beside, gains, held

__all__ = [
    "Panel",
    "bars",
    "beside",
    "course",
    "drawn",
    "gains",
    "grid",
    "held",
    "picture",
    "scatter",
    "strip",
    "sweep",
    "triangle",
]
