"""Reference outputs for blocks of which the dump does not say which bundled input they ran. Pure.

ExecuTorch 1.5.1's runtime does not write the index of the bundled input.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ingest.errors import EtRecordError
from queries.event_blocks.build import BuiltBlock
from warehouse.errors import QueryError
from warehouse.programs.correlation import Correlation


def with_reference_outputs(
    blocks: Iterable[BuiltBlock], correlation: Correlation | None, bundled_input: int | None
) -> list[BuiltBlock]:
    """The blocks; those that ran a method have the reference output of a bundled input.

    It is the bundled input that the dump says; else `bundled_input`; else the only one of the
    method in the ETRecord.

    Raises:
        QueryError: if `bundled_input` is none of the ETRecord's.
    """
    found = [_completed(block, correlation, bundled_input) for block in blocks]
    if bundled_input is not None and not any(block.reference_output for block in found):
        raise QueryError(
            f"bundled input {bundled_input}: the ETRecord has no reference output of it for a "
            "method that ran, wanted one that was saved with it"
        )
    return found


def _has_run(block: BuiltBlock) -> bool:
    return bool(block.run_output) or any(event.kind == "method" for event in block.events)


def _completed(
    block: BuiltBlock, correlation: Correlation | None, bundled_input: int | None
) -> BuiltBlock:
    if correlation is None or block.method is None:
        return block
    if block.bundled_input_index >= 0 or not _has_run(block):
        return block
    try:
        cases = correlation.record.reference_outputs.get(block.method, [])
    except EtRecordError as error:
        return replace(block, notes=[*block.notes, str(error)])
    index = bundled_input if bundled_input is not None else 0 if len(cases) == 1 else -1
    return replace(block, reference_output=cases[index]) if 0 <= index < len(cases) else block
