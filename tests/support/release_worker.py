"""A process of another version of tracehouse, whose folder is its first argument.

Each line that it reads is a JSON object with the store, an operation and its argument. It answers
with a line: the kind and text of the error, or two empty texts.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, sys.argv[1])

import tracehouse

# The folders of earlier versions are packages themselves.
_PREFIX = "tracehouse." if Path(sys.argv[1], "tracehouse", "ingest").exists() else ""


def _module(name: str) -> Any:
    return import_module(f"{_PREFIX}{name}")


parse_manifest = _module("warehouse.load.entries").parse_manifest
choose_dumps = _module("warehouse.upkeep.choice").choose_dumps
forget_dumps = _module("warehouse.upkeep.forget").forget_dumps


def act(store: Path, operation: str, argument: Any) -> None:
    """Do an operation on a store."""
    with tracehouse.Warehouse.open(store, create=True, read_only=operation == "read") as opened:
        if operation == "ingest":
            opened.ingest(
                [
                    tracehouse.Dump.of_bytes(source, bytes.fromhex(data), parse_manifest(stated))
                    for source, data, stated in argument
                ]
            )
        elif operation == "decide":
            opened.decide(argument, state="accepted", reason="why")
        elif operation == "forget":
            chosen = choose_dumps(opened.writing, where={"build": argument})
            forget_dumps(opened.writing, store, chosen, user="ann")


def main() -> None:
    """Answer each line."""
    assert Path(str(tracehouse.__file__)).is_relative_to(sys.argv[1])
    for line in sys.stdin:
        wanted = json.loads(line)
        answer = ["", ""]
        try:
            act(Path(wanted["store"]), wanted["operation"], wanted["argument"])
        except tracehouse.WarehouseError as error:
            answer = [type(error).__name__, str(error)]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
