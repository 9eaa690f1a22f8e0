"""Says what ExecuTorch's flatc and Inspector read in dumps, in an environment that has executorch.

Takes pairs of paths, of a dump and its debug buffer, as JSON on stdin; answers in a JSON file,
because flatc writes to stdout.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from executorch.devtools import Inspector  # type: ignore[import-not-found,unused-ignore]
from executorch.devtools.etdump import serialize  # type: ignore[import-not-found,unused-ignore]

UNREADABLE = (CalledProcessError, ValueError)  # flatc fails, or prints what is not JSON


def main() -> None:
    """Answer once, in the file that is the only argument."""
    warnings.simplefilter("ignore")
    found = [
        {"flatc": _decompile(Path(dump)), "blocks": _inspect(dump, debug_buffer)}
        for dump, debug_buffer in json.load(sys.stdin)
    ]
    Path(sys.argv[1]).write_text(json.dumps(found))


def _decompile(path: Path) -> str:
    try:
        return str(serialize._convert_from_flatcc(path.read_bytes()), "utf-8")
    except UNREADABLE as error:
        return type(error).__name__


def _inspect(dump: str, debug_buffer: str) -> Any:
    try:
        inspector = Inspector(etdump_path=dump, debug_buffer_path=debug_buffer)
    except UNREADABLE as error:
        return type(error).__name__
    return [
        {
            "name": block.name,
            "bundled_input_index": block.bundled_input_index,
            "run_output": _plain(block.run_output),
            "events": [_event(event) for event in block.events],
        }
        for block in inspector.event_blocks
    ]


def _event(event: Any) -> Any:
    return {
        "name": event.name,
        "instruction_id": event._instruction_id,
        "delegate_id": event.delegate_debug_identifier,
        "raw": event.perf_data and event.perf_data.raw,
        "start_time": event.start_time,
        "metadata": [list(data) for data in event.raw_delegate_debug_metadatas],
        "debug_data": _plain(event.debug_data),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return [str(value.dtype), value.tolist()] if hasattr(value, "dtype") else value


if __name__ == "__main__":
    main()
