"""The debug handles and delegates of an ETRecord as tables. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tracehouse.ingest.etrecord.record import EtRecord


def handle_table(record: EtRecord) -> pa.Table:
    """One row per instruction of the debug-handle maps, in the ETRecord's order.

    Columns: method, instruction_id, debug_handles (a text, such as "1, 2") and output_count, which
    is null if the ETRecord does not have it.
    """
    rows = [
        (method, instruction, _text(handles), record.num_outputs.get(method, {}).get(instruction))
        for method, instructions in record.debug_handles.items()
        for instruction, handles in instructions.items()
    ]
    return _table(rows, method=str, instruction_id=int, debug_handles=str, output_count=int)


def delegate_table(record: EtRecord) -> pa.Table:
    """One row per id of a delegated instruction, in the ETRecord's order.

    Columns: method, instruction_id, backend, delegate_id and debug_handles. An instruction without
    ids has one row, in which delegate_id is null and debug_handles is empty.
    """
    no_ids: list[tuple[str | None, list[int]]] = [(None, [])]
    rows = [
        (method, instruction, delegate.name, id_, _text(handles))
        for method, instructions in record.delegates.items()
        for instruction, delegate in instructions.items()
        for id_, handles in delegate.handles.items() or no_ids
    ]
    return _table(
        rows, method=str, instruction_id=int, backend=str, delegate_id=str, debug_handles=str
    )


def _text(handles: int | list[int]) -> str:
    return str(handles) if isinstance(handles, int) else ", ".join(map(str, handles))


def _table(rows: Sequence[tuple[object, ...]], **types: type[str | int]) -> pa.Table:
    kinds = {str: pa.string(), int: pa.int64()}
    columns = zip(*rows, strict=True) if rows else [()] * len(types)
    arrays = [pa.array(c, kinds[type_]) for c, type_ in zip(columns, types.values(), strict=True)]
    return pa.table(arrays, names=list(types))
