"""A model on a device in one text, as parameters take it: 'DEVICE / MODEL / BACKEND'."""

from __future__ import annotations

_BETWEEN = " / "


def place_of(device: str, model: str, backend: str) -> str:
    """The text of a place; without a backend it is of any.

    >>> place_of("pixel8", "mv2", ""), place_of("pixel8", "mv2", "xnnpack")
    ('pixel8 / mv2', 'pixel8 / mv2 / xnnpack')
    """
    return _BETWEEN.join(filter(None, (device, model, backend)))


def check_place(place: str) -> str:
    """The text, if it is of a place.

    Raises:
        ValueError: It is not.
    """
    parts = place.split(_BETWEEN)
    if len(parts) not in (2, 3) or not all(parts):
        raise ValueError
    return place


def check_place_name(name: str) -> str:
    """A name of a device, model or backend that can be a part of a place.

    Raises:
        ValueError: It holds what stands between the parts.
    """
    if _BETWEEN in name:
        raise ValueError(f"may not hold '{_BETWEEN}'")
    return name
