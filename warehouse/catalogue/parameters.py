"""Values for the parameters of a canned query: conversion, checks and defaults; pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from tracehouse.warehouse.catalogue.header import Parameter
from tracehouse.warehouse.catalogue.places import check_place
from tracehouse.warehouse.catalogue.queries import Query
from tracehouse.warehouse.catalogue.shares import ShareError, parse_share
from tracehouse.warehouse.errors import ParameterError, suggest


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
