"""Places: a model on a device as one text, 'DEVICE / MODEL / BACKEND', for parameters."""

from __future__ import annotations

from tracehouse.ingest.schemas.attributes import compose

_SEPARATOR = " / "


def place_of(device: str, model: str, backend: str) -> str:
    """The text of a place; without a backend it means any backend.

    >>> place_of("pixel8", "mv2", ""), place_of("pixel8", "mv2", "xnnpack")
    ('pixel8 / mv2', 'pixel8 / mv2 / xnnpack')
    """
    return _SEPARATOR.join(filter(None, (device, model, backend)))


def check_place(place: str) -> str:
    """The text of a place, in the spelling of the store.

    Raises:
        ValueError: The text is not a place.
    """
    parts = place.split(_SEPARATOR)
    if len(parts) not in (2, 3) or not all(parts):
        raise ValueError
    return compose(place)


def check_place_name(name: str) -> str:
    """A name of a device, model or backend that can be part of a place, as the store spells it.

    Raises:
        ValueError: The name contains the separator.
    """
    if _SEPARATOR in name:
        raise ValueError(f"may not contain '{_SEPARATOR}'")
    return compose(name)
