"""Reference outputs for blocks whose bundled input is not in the dump. Pure.

ExecuTorch 1.5.1's runtime does not write the index of the bundled input.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tracehouse.ingest.errors import EtRecordError
from tracehouse.queries.event_blocks.blocks import EventBlock
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.programs.correlation import Correlation


def with_reference_outputs(
    blocks: Iterable[EventBlock], correlation: Correlation | None, bundled_input: int | None
) -> list[EventBlock]:
    """The blocks, with reference outputs for blocks that ran a method.

    The bundled input is that of the dump, else `bundled_input`, else the method's only one in the
    ETRecord.

    Raises:
        QueryError: The ETRecord does not have `bundled_input`.
    """
    found = [_completed(block, correlation, bundled_input) for block in blocks]
    if bundled_input is not None and not any(block.reference_output for block in found):
        raise QueryError(
            f"bundled input {bundled_input}: the ETRecord has no reference output of it for a "
            "method that ran"
        )
    return found


def _has_run(block: EventBlock) -> bool:
    return bool(block.run_output) or any(event.kind == "method" for event in block.events)


def _completed(
    block: EventBlock, correlation: Correlation | None, bundled_input: int | None
) -> EventBlock:
    if correlation is None or block.method is None:
        return block
    index = block.bundled_input_index
    if (index is not None and index >= 0) or not _has_run(block):
        return block
    try:
        cases = correlation.record.reference_outputs.get(block.method, [])
    except EtRecordError as error:
        return replace(block, notes=[*block.notes, str(error)])
    case = bundled_input if bundled_input is not None else 0 if len(cases) == 1 else -1
    return replace(block, reference_output=cases[case]) if 0 <= case < len(cases) else block
