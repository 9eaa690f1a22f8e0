"""Runs the exported program of an ETRecord with ExecuTorch, as the reference of a numeric gap.

The only module that uses executorch and torch; both are imported when it is called.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.ingest.etrecord.names import EDGE_PROGRAM, EXPORTED_PROGRAM, REPRESENTATIVE_INPUTS
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_source
from tracehouse.queries.errors import ProgramRunError, WrongValueError
from tracehouse.queries.event_blocks.logged_values import logged_value
from tracehouse.queries.numeric_gap.logged_operators import LoggedRun, flat_tensors
from tracehouse.queries.numeric_gap.run_values import Operator
from tracehouse.warehouse.errors import QueryError, suggest
from tracehouse.warehouse.programs.exported_programs import METHOD, name_programs

UNSET_HANDLE = 0  # handle of a node that no operator of the edge dialect comes from
_HANDLE, _FROM = "debug_handle", "from_node"  # keys of `meta`
_NO_STEPS = ("placeholder", "output")

Handles = tuple[int, ...]

# What ExecuTorch's readers and torch raise for files and programs they cannot handle.
_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError,
           ValueError)  # fmt: skip


def choose_program(record: Any, name: str, *, graph: str | None, is_validated: bool) -> Any:
    """The ExportedProgram of ExecuTorch's ETRecord object that a graph's name means.

    Args:
        record: The object; exported_program gets the debug handles of the edge dialect.
        name: Its name in messages.
        graph: exported_program, edge_dialect_exported_program or a name in the graph map; by
            default the first of them whose operators have debug handles.
        is_validated: Whether all debug handles must be in exported_program.

    Raises:
        WrongValueError: There is no such graph, or exported_program lacks debug handles.
    """
    programs = name_programs(record)
    if graph in (None, EXPORTED_PROGRAM):
        if _hand_back(programs, getattr(record, "export_graph_id", None), is_validated):
            return programs[EXPORTED_PROGRAM]
        if graph is not None:
            raise WrongValueError(
                f"{name}: {EXPORTED_PROGRAM} is absent, or some debug handles are not in it; "
                "disable the validation of debug handles, or choose another reference graph"
            )
        graph = EDGE_PROGRAM
    for key in (graph, f"{graph}/{METHOD}"):
        if key in programs:
            return programs[key]
    known = sorted(key.removesuffix(f"/{METHOD}") for key in programs)
    raise WrongValueError(f"{name}: no reference graph '{graph}'{suggest(graph, known)}")


def name_operators(module: Any) -> dict[Handles, list[str]]:
    """The names of a module's operators by debug handles."""
    names: dict[Handles, list[str]] = {}
    for node in module.graph.nodes:
        handles = handles_of(node)
        if handles is not None:
            names.setdefault(handles, []).append(node.name)
    return names


def handles_of(node: Any) -> Handles | None:
    """The debug handles of a node that calls an operator; None for other nodes."""
    handles = node.meta.get(_HANDLE)
    if handles is None or node.op != "call_function" or "getitem" in node.name:
        return None
    return (handles,) if isinstance(handles, int) else tuple(handles)


def _hand_back(programs: Mapping[str, Any], graph_id: object, is_validated: bool) -> bool:
    """Give the nodes of exported_program the debug handles of the edge dialect's.

    Returns:
        Whether they have them: not without one of the programs, nor, if that is validated, where
        nodes of the edge dialect come from no node of exported_program.
    """
    exported = programs.get(EXPORTED_PROGRAM)
    edge = programs.get(f"{EDGE_PROGRAM}/{METHOD}")
    if exported is None or edge is None:
        return False
    steps = [node for node in _steps(edge.graph_module) if node.meta.get(_HANDLE) is not None]
    by_ancestor: dict[str, Any] = {}
    for node in steps:
        for ancestor in _ancestors(node):
            if by_ancestor.setdefault(ancestor, node.meta[_HANDLE]) != node.meta[_HANDLE]:
                return False
    found = {
        node: _first_known([f"{node.name}.{graph_id}", *_ancestors(node)], by_ancestor)
        for node in _steps(exported.graph_module)
    }
    if is_validated and not {node.meta[_HANDLE] for node in steps} <= {*found.values()}:
        return False
    for node, handle in found.items():
        node.meta[_HANDLE] = UNSET_HANDLE if handle is None else handle
    return True


def _steps(graph_module: Any) -> Iterator[Any]:
    """The nodes of a program and of the graphs in it that compute something."""
    for module in graph_module.modules():
        for node in module.graph.nodes if hasattr(module, "graph") else ():
            if node.op not in _NO_STEPS:
                yield node


def _ancestors(node: Any) -> list[str]:
    """The nodes of earlier graphs that a node comes from, the latest first, with their graphs."""
    found, sources = [], node.meta.get(_FROM)
    while sources:
        found.append(f"{sources[-1].name}.{sources[-1].graph_id}")
        sources = sources[-1].from_node
    return found


def _first_known(ids: Iterable[str], handles: Mapping[str, Any]) -> Any:
    return next((handles[id_] for id_ in ids if id_ in handles), None)


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
