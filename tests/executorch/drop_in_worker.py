"""What ExecuTorch's Inspector shows of dumps, in an environment that has executorch.

Takes the arguments of Inspectors as JSON on stdin; answers in a JSON file, because flatc writes to
stdout.
"""

from __future__ import annotations

import io
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from executorch.devtools import Inspector  # type: ignore[import-not-found,unused-ignore]
from executorch.devtools.inspector import compare_results  # type: ignore[import-not-found,unused-ignore]


def main() -> None:
    """Answer once, in the file that is the only argument."""
    warnings.simplefilter("ignore")
    found = [
        _answer(Inspector(**arguments), "debug_buffer_path" in arguments)
        for arguments in json.load(sys.stdin)
    ]
    Path(sys.argv[1]).write_text(json.dumps(found))


def _answer(inspector: Any, has_tensors: bool) -> Any:
    printed = []
    for has_units in (True, False):
        file = io.StringIO()
        inspector.print_data_tabular(file, has_units, True)
        printed.append(file.getvalue())
    return {
        "printed": printed,
        "events": [
            [event.name, [*event.asdict(" (ms)")], event.op_types, _plain(event.module_hierarchy)]
            for block in inspector.event_blocks
            for event in block.events
        ],
        "results": [
            compare_results(block.run_output, [value * 1.01 for value in block.run_output])
            for block in inspector.event_blocks
            if has_tensors and block.run_output
        ],
    }


def _plain(hierarchy: Any) -> Any:
    """Tuples told apart from lists, which JSON does not."""
    if isinstance(hierarchy, dict):
        return {key: _plain(value) for key, value in hierarchy.items()}
    return ["a tuple", *hierarchy] if isinstance(hierarchy, tuple) else hierarchy


if __name__ == "__main__":
    main()
