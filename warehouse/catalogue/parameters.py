"""Values for the parameters of a canned query: conversion, checks and defaults; pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from tracehouse.ingest.schemas.attributes import compose
from tracehouse.warehouse.catalogue.header import Parameter
from tracehouse.warehouse.catalogue.queries import Query
from tracehouse.warehouse.errors import ParameterError, suggest

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


class ShareError(ValueError):
    """A text is not a share, or is ambiguous."""


def parse_share(text: str) -> float:
    """The share in a text, which is a number or in percent.

    Raises:
        ShareError: The text is neither, or is a plain number of 1 or more, which would be 100 % or
            more but is probably meant as percent.

    >>> parse_share("0.05"), parse_share("5%"), parse_share("150 %")
    (0.05, 0.05, 1.5)
    """
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = math.nan
    if rest or not math.isfinite(value):
        raise ShareError(f"{text!r}, wanted a share such as 5% or 0.05")
    if not percent and abs(value) >= 1:
        given = number.strip()
        raise ShareError(
            f"{text!r} would be {100 * value:,g} %: write {given}%, or {100 * value:g}% if you "
            "mean that"
        )
    return value


def bind_parameters(query: Query, params: Mapping[str, object]) -> dict[str, object]:
    """A value of the declared type for every parameter of a query, in the header's order.

    Texts from a command line or a URL are converted, and defaults filled in, also for None. Times
    without a zone are UTC. Names are not looked up yet: see `resolve_names`.

    Raises:
        ParameterError: A parameter is unknown, missing, of the wrong type or out of range.
    """
    header = query.header
    known = [parameter.name for parameter in header.params]
    for name in params:
        if name not in known:
            problem = f"no such parameter{suggest(name, known)}"
            raise ParameterError(header.name, name, problem)
    bound = {}
    for parameter in header.params:
        value = params.get(parameter.name)
        if value is None and parameter.is_required:
            raise ParameterError(header.name, parameter.name, f"missing: {parameter.doc}")
        bound[parameter.name] = _convert(
            header.name, parameter, parameter.default if value is None else value
        )
    for parameter in header.params:
        _check_relation(header.name, parameter, bound)
    return bound


def _convert(query: str, parameter: Parameter, value: object) -> object:
    if value is None:
        return None
    if parameter.choices and parameter.type == "STRING" and value not in parameter.choices:
        wanted = ", ".join(parameter.choices)
        raise ParameterError(query, parameter.name, f"{value!r}, wanted one of {wanted}")
    convert, wanted = _CONVERSIONS[parameter.type]
    try:
        converted = convert(value)
    except ShareError as error:
        raise ParameterError(query, parameter.name, str(error)) from error
    except (ValueError, TypeError, OverflowError) as error:
        raise ParameterError(query, parameter.name, f"{value!r}, wanted {wanted}") from error
    if isinstance(converted, int | float):
        _check_range(query, parameter, converted)
    return converted


def _check_range(query: str, parameter: Parameter, value: float) -> None:
    least, most = parameter.least, parameter.most
    if (least is None or value >= least) and (most is None or value <= most):
        return
    if least is None or most is None:
        wanted = f"at least {least}" if most is None else f"at most {most}"
    else:
        wanted = f"{least} to {most}"
    raise ParameterError(query, parameter.name, f"{value}, wanted {wanted}")


def _check_relation(query: str, parameter: Parameter, bound: Mapping[str, object]) -> None:
    relation, value = parameter.relation, bound[parameter.name]
    other = bound[relation.other] if relation else None
    if relation is None or value is None or other is None:
        return
    if relation.sign == "<>" and value == other:
        problem = f"{value!r}, which is the value of '{relation.other}', too; wanted another value"
        raise ParameterError(query, parameter.name, problem)
    if relation.sign == ">" and not _is_later(value, other):
        problem = f"{_shown(value)}, wanted later than '{relation.other}', {_shown(other)}"
        raise ParameterError(query, parameter.name, problem)


def _is_later(value: object, other: object) -> bool:
    return isinstance(value, datetime) and isinstance(other, datetime) and value > other


def _shown(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else repr(value)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Sequence) or not value:
        raise TypeError
    return [_string(item) for item in value]


def _tags(value: object) -> list[str]:
    tags = _strings(value)
    if not all("=" in tag for tag in tags):
        raise ValueError
    return tags


def _places(value: object) -> list[str]:
    return [check_place(place) for place in _strings(value)]


def _integer(bits: int) -> Callable[[object], int]:
    def convert(value: object) -> int:
        if not isinstance(value, int | str) or isinstance(value, bool):
            raise TypeError
        number = int(value)
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise OverflowError
        return number

    return convert


def _double(value: object) -> float:
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        raise TypeError
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _share(value: object) -> float:
    return parse_share(value) if isinstance(value, str) else _double(value)


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = _string(value).lower()
    if text not in {"true", "false"}:
        raise ValueError
    return text == "true"


def parse_time(value: object) -> datetime:
    """A date or time, in UTC if it states no zone.

    Raises:
        ValueError: It is neither.
    """
    time = value if isinstance(value, datetime) else datetime.fromisoformat(_string(value))
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


_CONVERSIONS: dict[str, tuple[Callable[[object], object], str]] = {
    "STRING": (_string, "a text"),
    "STRING[]": (_strings, "a text, or several"),
    "TAG[]": (_tags, "KEY=VALUE, or several"),
    "TAG_KEY": (_string, "a text"),
    "PLACE[]": (_places, "'DEVICE / MODEL' or 'DEVICE / MODEL / BACKEND', or several"),
    "INT": (_integer(32), "a whole number of 32 bits"),
    "BIGINT": (_integer(64), "a whole number of 64 bits"),
    "DOUBLE": (_double, "a finite number"),
    "SHARE": (_share, "a finite number"),
    "BOOLEAN": (_boolean, "true or false"),
    "TIMESTAMP": (parse_time, "a date or time such as 2026-11-21T08:00:00Z"),
}
