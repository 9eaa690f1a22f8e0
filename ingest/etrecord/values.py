"""The values of a program's test cases in an ETRecord. Pure."""

from __future__ import annotations

from tracehouse.ingest.debug_buffer import TensorValue

MAX_VALUES = 1_000_000

RecordedValue = bool | int | float | str | TensorValue | list[TensorValue] | None


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
