"""Runs the exported program of an ETRecord with ExecuTorch, as the reference of a numeric gap.

The only module that uses executorch and torch; both are imported when it is called.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.ingest.etrecord.names import REPRESENTATIVE_INPUTS
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_source
from tracehouse.queries.errors import ProgramRunError, WrongValueError
from tracehouse.queries.event_blocks.logged_values import logged_value
from tracehouse.queries.numeric_gap.logged_operators import LoggedRun, flat_tensors
from tracehouse.queries.numeric_gap.reference_graph import (
    UNSET_HANDLE,
    Handles,
    choose_program,
    handles_of,
    name_operators,
)
from tracehouse.queries.numeric_gap.run_values import Operator
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.programs.exported_programs import METHOD

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
        devtools, torch = (import_module(name) for name in ("executorch.devtools", "torch"))
    except ImportError as error:
        raise QueryError(
            f"running the exported program needs executorch ({error}): "
            "pip install '.[executorch]' in a checkout; comparing two dumps does not need it"
        ) from error
    try:
        record = devtools.parse_etrecord(io.BytesIO(data))
        _check_methods(record, etrecord)
        program = choose_program(record, etrecord.name, graph=graph, is_validated=is_validated)
        module = program.module()
        outputs = _run_and_capture(module, _representative_inputs(torch, data, etrecord), torch)
    except _FAULTS as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        known = WrongValueError if isinstance(error, ValueError) else ProgramRunError
        raise known(f"{etrecord.name}: ExecuTorch cannot run its program: {problem}") from error
    names = name_operators(module)
    operators = [
        Operator(names[handles][-1], None, None, 0, handles, (), list(_tensors(output)))
        for handles, output in outputs.items()
        if handles != (UNSET_HANDLE,)
    ]
    traces = {node.name: node.meta.get("stack_trace") for node in module.graph.nodes}
    return ReferenceRun(LoggedRun(None, METHOD, operators), names, traces)


def _check_methods(record: Any, etrecord: Source) -> None:
    """Check that the ETRecord has the method that representative inputs are for.

    Raises:
        WrongValueError: It only has other methods.
    """
    programs = record.edge_dialect_program
    if isinstance(programs, dict) and METHOD not in programs:
        known = ", ".join(programs)
        raise WrongValueError(f"{etrecord.name}: has methods {known}, but only {METHOD} can be run")


def _representative_inputs(torch: Any, data: bytes | memoryview, etrecord: Source) -> Any:
    """The representative inputs, which the object has, but does not show.

    Raises:
        WrongValueError: There are none.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as record:
        if REPRESENTATIVE_INPUTS not in record.namelist():
            raise WrongValueError(
                f"{etrecord.name}: has no representative inputs; call update_representative_inputs "
                "on the ETRecord before saving it"
            )
        return torch.load(io.BytesIO(record.read(REPRESENTATIVE_INPUTS)), weights_only=True)


def _run_and_capture(module: Any, inputs: Any, torch: Any) -> dict[Handles, Any]:
    """The result of the last node of each debug handle, in order of the first."""
    captured: dict[Handles, Any] = {}

    class Capturer(torch.fx.Interpreter):  # type: ignore[misc]
        """Keeps what nodes with debug handles compute."""

        def run_node(self, n: Any) -> Any:
            """The node's result."""
            result = super().run_node(n)
            handles = handles_of(n)
            if handles is not None:
                captured[handles] = _copied(result, torch)
            return result

    Capturer(module).run(inputs)
    return captured


def _copied(result: Any, torch: Any) -> Any:
    """The result, which later nodes may change in place."""
    if isinstance(result, torch.Tensor):
        return result.detach().clone()
    if isinstance(result, list | tuple):
        return [_copied(one, torch) for one in result]
    return result


def _tensors(output: Any) -> Iterator[TensorValue]:
    """The tensors of the output, with lists flattened; a missing tensor for other values."""
    if isinstance(output, list | tuple):
        for element in output:
            yield from _tensors(element)
    elif hasattr(output, "__array__") or isinstance(output, bool | int | float):
        yield from flat_tensors(logged_value(output))
    else:
        yield from flat_tensors(None)
