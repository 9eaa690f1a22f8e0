"""Drawings as PNG, by resvg, which is an optional package."""

from __future__ import annotations

from collections.abc import Callable

from tracehouse.warehouse.errors import QueryError

FAMILIES = ("DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica")
_DOTS = 2  # pixels per unit of the drawing
_LETTER = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
    '<text y="9" font-family="sans-serif">x</text></svg>'
)


def load_renderer() -> Callable[..., bytes]:
    """The function that draws PNGs.

    Raises:
        QueryError: resvg is not installed.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise QueryError(
            f"a PNG needs the package {error.name}: pip install '.[plots]' in a checkout, or "
            "choose a name that ends in .svg"
        ) from error
    return svg_to_bytes


def draw_png(drawn: str) -> bytes:
    """A drawing as PNG, on white.

    Raises:
        QueryError: resvg is not installed, or there is no font.
    """
    render = load_renderer()
    blank = _letter(render, "")
    family = next((one for one in FAMILIES if _letter(render, one) != blank), None)
    if family is None:
        raise QueryError(
            f"a PNG needs one of the fonts {', '.join(FAMILIES)}; install one, or choose a name "
            "that ends in .svg"
        )
    return render(svg_string=drawn, background="#fff", zoom=_DOTS, sans_serif_family=family)


def _letter(render: Callable[..., bytes], family: str) -> bytes:
    """A picture of a letter, blank without such a font."""
    return render(svg_string=_LETTER, sans_serif_family=family)
