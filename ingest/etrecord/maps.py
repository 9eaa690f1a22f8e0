"""The maps of an ETRecord from parsed JSON, by method and instruction. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.ingest.strict_json import describe, parse_integer

MAX_METHODS = 1_000
MAX_NAME_LETTERS = 1_000  # names are repeated in many rows

Handles = int | list[int]

_Item = TypeVar("_Item")

MAX_VALUES = 1_000_000
RecordedValue = bool | int | float | str | TensorValue | list[TensorValue] | None


@dataclass(frozen=True)
class DelegateMap:
    """A delegate's debug handles at one instruction.

    Attributes:
        name: Name of the backend; None if absent.
        handles: Debug handle or handles by delegate id, as text.
    """

    name: str | None
    handles: dict[str, Handles]


def parse_methods(
    value: object, parse: Callable[[object], _Item | None]
) -> dict[str, dict[int, _Item]]:
    """The items of each method by instruction, converted by `parse`; None means no item.

    Raises:
        ValueError: The value is not ``{method: {instruction: item}}``, has more than MAX_METHODS,
            or a name is longer than MAX_NAME_LETTERS.
    """
    if len(_parse_object(value)) > MAX_METHODS:
        raise ValueError(
            f"has {len(_parse_object(value)):,} methods, wanted at most {MAX_METHODS:,}"
        )
    return {
        need_name(method): {
            parse_integer(instruction, bits=32): parsed
            for instruction, item in _parse_object(items).items()
            if (parsed := parse(item)) is not None
        }
        for method, items in _parse_object(value).items()
    }


def parse_handles(value: object) -> Handles | None:
    """A debug handle, several or none.

    Raises:
        ValueError: The value is not an integer, a list of integers or null.
    """
    if value is None:
        return None
    if isinstance(value, list):
        return [parse_integer(handle) for handle in value]
    return parse_integer(value)


def parse_delegate(value: object) -> DelegateMap:
    """A delegate's entry.

    Raises:
        ValueError: The value is not an object, its name is not a text or too long, or its
            delegate_map is not a map of handles.
    """
    delegate = _parse_object(value)
    name = delegate.get("name")
    if not isinstance(name, str | None):
        raise ValueError(f"found {describe(name)}, wanted the name of a backend")
    ids = _parse_object(delegate.get("delegate_map"))
    handles = {id_: parse_handles(value) for id_, value in ids.items()}
    need_name(name or "")
    return DelegateMap(name, {id_: value for id_, value in handles.items() if value is not None})


def need_name(text: str) -> str:
    """The text, checked for the length of a name.

    Raises:
        ValueError: The text is too long.
    """
    if len(text) > MAX_NAME_LETTERS:
        raise ValueError(
            f"found a name of {len(text):,} characters, {text!r:.40}..., "
            f"wanted at most {MAX_NAME_LETTERS:,}"
        )
    return text


def _parse_object(value: object) -> dict[str, object]:
    if value is None:  # an absent map
        return {}
    if isinstance(value, dict):
        return value
    raise ValueError(f"found {describe(value)}, wanted an object")


class ValueParser:
    """Converts the values of one archive, and limits their number, as values may be shared."""

    def __init__(self) -> None:
        self._count = 0

    def cases(self, value: object) -> dict[str, list[list[RecordedValue]]]:
        """The values of each case of each method; a case of one value need not be in a list.

        Raises:
            ValueError: The value has another structure, or too many values.
        """
        if not isinstance(value, dict):
            raise ValueError(f"has a {type(value).__name__}, wanted values by method")
        return {
            str(method): [
                self.values(case if isinstance(case, list | tuple) else [case])
                for case in self._items(cases)
            ]
            for method, cases in value.items()
        }

    def values(self, value: object) -> list[RecordedValue]:
        """The values in a list or tuple.

        Raises:
            ValueError: The value has another structure, or too many values.
        """
        return [self._value(item) for item in self._items(value)]

    def _value(self, value: object) -> RecordedValue:
        match value:
            case None | bool() | int() | float() | str() | TensorValue():
                return value
            case list() | tuple():
                tensors = [item for item in self._items(value) if isinstance(item, TensorValue)]
                if len(tensors) == len(value):
                    return tensors
        raise ValueError("has a value that is neither plain, a tensor nor a list of tensors")

    def _items(self, value: object) -> list[object] | tuple[object, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError(f"has a {type(value).__name__}, wanted a list")
        self._count += len(value)
        if self._count > MAX_VALUES:
            raise ValueError(f"has more than {MAX_VALUES:,} values")
        return value
