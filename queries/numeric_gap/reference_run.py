"""Runs the exported program of an ETRecord with ExecuTorch, as the reference of a numeric gap.

The only module that uses executorch and torch; both are imported when it is called.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NamedTuple

from ingest.debug_buffer import TensorValue
from ingest.sources.paths import Source, read_source
from queries.errors import ProgramRunError, WrongValueError
from queries.event_blocks.logged_values import logged_value
from queries.numeric_gap.logged_operators import LoggedRun, flat_tensors
from queries.numeric_gap.run_values import Operator
from warehouse.errors import QueryError

_INSPECTOR = "executorch.devtools.inspector"
METHOD = "forward"  # representative inputs are for this method
_UNSET_HANDLE = 0
# What ExecuTorch's readers and torch raise for files and programs they cannot handle.
_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError,
           ValueError)  # fmt: skip


class ReferenceRun(NamedTuple):
    """The values that an exported program computed.

    Attributes:
        run: One operator per debug handle, with the result of its last node and named after it.
        node_names: All nodes of each debug handle.
        stack_traces: Stack trace of each node; None where the program has none.
    """

    run: LoggedRun
    node_names: dict[tuple[int, ...], list[str]]
    stack_traces: dict[str, str | None]


def run_reference(etrecord: Source, *, graph: str | None = None) -> LoggedRun:
    """The run of `run_program`, which also says what this raises."""
    return run_program(etrecord, graph=graph).run


def run_program(
    etrecord: Source, *, graph: str | None = None, is_validated: bool = True
) -> ReferenceRun:
    """Run the exported program on the representative inputs in its ETRecord.

    An unreadable file raises SourceError.

    Args:
        etrecord: An ETRecord saved with representative inputs.
        graph: Program to run, as in `Inspector.calculate_numeric_gap`: exported_program,
            edge_dialect_exported_program or a name in the graph map; by default the first of them
            whose operators have debug handles.
        is_validated: Run exported_program only if all of its operators have debug handles.

    Raises:
        QueryError: if executorch is not installed.
        WrongValueError: if there is no such graph, or a wrong value keeps it from running.
        ProgramRunError: if ExecuTorch cannot run the program for another reason.
    """
    data = read_source(etrecord)
    try:
        devtools = import_module("executorch.devtools")
        inspector = import_module(f"{_INSPECTOR}._inspector")
        utils = import_module(f"{_INSPECTOR}._inspector_utils")
        capturing = import_module(f"{_INSPECTOR}._intermediate_output_capturer")
    except ImportError as error:
        raise QueryError(
            f"running the exported program needs executorch ({error}): "
            "pip install 'tracehouse[executorch]'; comparing two dumps does not need it"
        ) from error
    try:
        record = devtools.parse_etrecord(io.BytesIO(data))
        module = _reference_module(inspector.Inspector, record, etrecord, (graph, not is_validated))
        names = utils.get_aot_debug_handle_to_op_name_mapping(module)
        inputs = _representative_inputs(record, etrecord)
        outputs = capturing.IntermediateOutputCapturer(module).run_and_capture(inputs)
    except _FAULTS as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        known = WrongValueError if isinstance(error, ValueError) else ProgramRunError
        raise known(f"{etrecord.name}: ExecuTorch cannot run its program: {problem}") from error
    operators = [
        Operator(names[handles][-1], None, None, 0, handles, (), list(_tensors(output)))
        for handles, output in outputs.items()
        if handles != (_UNSET_HANDLE,)
    ]
    traces = {node.name: node.meta.get("stack_trace") for node in module.graph.nodes}
    return ReferenceRun(LoggedRun(None, METHOD, operators), names, traces)


def _reference_module(
    inspector: Any, record: Any, etrecord: Source, choice: tuple[str | None, bool]
) -> Any:
    """The module that the Inspector would choose, given the graph and whether to skip its check.

    Raises:
        WrongValueError: if the ETRecord only has other methods.
    """
    programs = record.edge_dialect_program
    if isinstance(programs, dict):
        if METHOD not in programs:
            known = ", ".join(programs)
            raise WrongValueError(
                f"{etrecord.name}: has methods {known}, but only {METHOD} can be run"
            )
        record.edge_dialect_program = programs[METHOD]
    module, _ = inspector._resolve_reference_graph(SimpleNamespace(_etrecord=record), *choice)
    return module


def _representative_inputs(record: Any, etrecord: Source) -> Any:
    """The representative inputs.

    Raises:
        WrongValueError: if there are none.
    """
    if record._representative_inputs is None:
        raise WrongValueError(
            f"{etrecord.name}: has no representative inputs; call update_representative_inputs "
            "on the ETRecord before saving it"
        )
    return record._representative_inputs


def _tensors(output: Any) -> Iterator[TensorValue]:
    """The tensors of the output, with lists flattened; a missing tensor for other values."""
    if isinstance(output, list | tuple):
        for element in output:
            yield from _tensors(element)
    elif hasattr(output, "__array__") or isinstance(output, bool | int | float):
        yield from flat_tensors(logged_value(output))
    else:
        yield from flat_tensors(None)
