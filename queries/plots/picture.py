"""A drawing as a picture of dots, by resvg, which is an extra."""

from __future__ import annotations

from collections.abc import Callable

from warehouse.errors import QueryError

FAMILIES = ("DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica")
_DOTS = 2  # per unit of the drawing, each way
_LETTER = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
    '<text y="9" font-family="sans-serif">x</text></svg>'
)


def load_renderer() -> Callable[..., bytes]:
    """What draws pictures.

    Raises:
        QueryError: It is not installed.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise QueryError(
            f"a drawing as PNG needs what 'pip install \"tracehouse[plots]\"' adds, and this is "
            f"missing: {error.name}; a name that ends in .svg needs nothing"
        ) from error
    return svg_to_bytes


def picture_of(drawn: str) -> bytes:
    """A drawing as PNG, on white.

    Raises:
        QueryError: What draws it is not installed, or there is no font to write with.
    """
    render = load_renderer()
    blank = _letter(render, "")
    family = next((one for one in FAMILIES if _letter(render, one) != blank), None)
    if family is None:
        raise QueryError(
            f"a drawing as PNG needs a font, wanted one of: {', '.join(FAMILIES)}; install one, or "
            "take a name that ends in .svg"
        )
    return render(svg_string=drawn, background="#fff", zoom=_DOTS, sans_serif_family=family)


def _letter(render: Callable[..., bytes], family: str) -> bytes:
    """A letter, which is left out where there is no such font."""
    return render(svg_string=_LETTER, sans_serif_family=family)
