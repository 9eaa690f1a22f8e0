"""The values that an ETRecord keeps of a program's test cases. Pure."""

from __future__ import annotations

from ingest.debug_buffer import TensorValue

MAX_VALUES = 1_000_000

RecordedValue = bool | int | float | str | TensorValue | list[TensorValue] | None


class ValueParser:
    """Gives the values of one archive their form; an archive may name one value many times."""

    def __init__(self) -> None:
        self._count = 0

    def cases(self, value: object) -> dict[str, list[list[RecordedValue]]]:
        """The values of each case of each method; a case of one value may be that value.

        Raises:
            ValueError: The value is of another form, or too large.
        """
        if not isinstance(value, dict):
            raise ValueError(f"holds a {type(value).__name__}, wanted values by method")
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
            ValueError: The value is of another form, or too large.
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
        raise ValueError("holds a value that is neither a tensor nor a list of these nor plain")

    def _items(self, value: object) -> list[object] | tuple[object, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError(f"holds a {type(value).__name__}, wanted a list")
        self._count += len(value)
        if self._count > MAX_VALUES:
            raise ValueError(f"holds more than {MAX_VALUES:,} values")
        return value
