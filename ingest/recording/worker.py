"""Runs a program under ExecuTorch's event tracer: a script for a separate process.

The runtime may abort its process, and torch takes seconds and hundreds of megabytes to load. So
`session` runs this file in a Python that has executorch; it imports nothing of this project.

The only argument is a JSON file with the request. Reports are lines of JSON on stdout: {"done": 3}
after three iterations, and finally {"executorch": "1.5.1"}, {"problem": "..."} or
{"missing": "..."}. The runtime's log goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

_REPORT_SECONDS = 0.1
_FAULTS = (ArithmeticError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError)

Report = Callable[..., None]


def main() -> None:
    """Run the request."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as reports:
        os.dup2(2, 1)  # output of libraries must not mix with the reports

        def report(**facts: object) -> None:
            reports.write(f"{json.dumps(facts)}\n")
            reports.flush()

        try:
            _record(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), report)
        except ImportError as error:
            report(missing=str(error))
        except _FAULTS as error:
            report(problem=str(error) or type(error).__name__)
        else:
            report(executorch=metadata.version("executorch"))


def _record(request: dict[str, Any], report: Report) -> None:
    warnings.simplefilter("ignore")
    runtime = import_module("executorch.runtime").Runtime.get()
    import_module("executorch.kernels.quantized")  # registers its operators
    program = runtime.load_program(
        request["program"], enable_etdump=True, debug_buffer_size=request["debug_buffer_bytes"]
    )
    method = _load_method(program, request["method"])
    inputs = _read_inputs(request["inputs"], method.metadata)
    report(done=0)
    reported = time.monotonic()
    for done in range(1, request["iterations"] + 1):
        method.execute(inputs)
        if time.monotonic() - reported >= _REPORT_SECONDS:
            report(done=done)
            reported = time.monotonic()
    program.write_etdump_result_to_file(request["dump"], request["debug_buffer"])


def _load_method(program: Any, name: str) -> Any:
    """The method.

    Raises:
        ValueError: The program has no method of that name.
    """
    if name not in program.method_names:
        known = ", ".join(sorted(program.method_names))
        raise ValueError(f"it has no method '{name}'; wanted one of: {known}")
    return program.load_method(name)


def _read_inputs(path: str, meta: Any) -> tuple[object, ...]:
    """The inputs as tensors, or as numbers where the method takes numbers."""
    torch = import_module("torch")
    with np.load(path, allow_pickle=False) as archive:
        arrays = [archive[name] for name in archive.files]
    return tuple(
        array.item() if _is_number(array, meta, index) else torch.from_numpy(array)
        for index, array in enumerate(arrays)
    )


def _is_number(array: np.ndarray[Any, Any], meta: Any, index: int) -> bool:
    if array.ndim or index >= meta.num_inputs():
        return False
    try:
        meta.input_tensor_meta(index)
    except IndexError:
        return True
    return False


if __name__ == "__main__":
    main()
