"""Lets schemathesis ask a service what its OpenAPI document says: `make test-schemathesis`.

It is a service of its own on the shipped farm, on loopback. An answer of 5xx, of a status or a
content type that the document does not tell, makes the exit status 1; and so does a service that
is not ready afterwards.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tests.support.corpus import FARM
from tests.support.service_process import ServiceProcess
from tracehouse import Warehouse

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance"
_OPTIONS = (
    "--phases=examples,coverage,fuzzing", "--no-color", "--continue-on-failure",
    "--suppress-health-check=all", "--request-timeout=20", "--warnings=off",
    "--generation-deterministic", "--exclude-path=/v1/changes",  # whose answer does not end
)  # fmt: skip


def main(args: Sequence[str] | None = None) -> int:
    """Run as the arguments say; the exit status."""
    parser = argparse.ArgumentParser(prog="openapi", description=__doc__.split("\n")[0])
    parser.add_argument("schemathesis", type=Path, help="program of that name")
    parser.add_argument("--examples", type=int, default=10, help="per operation")
    parser.add_argument("--seconds", type=int, default=90, help="after which it ends")
    options = parser.parse_args(args)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "farm.store"
        with Warehouse.open(store, create=True) as warehouse:
            warehouse.ingest([FARM])
            warehouse.snapshot()
        program = options.schemathesis.absolute()
        return ask_everything(program, store, options.examples, options.seconds)


def ask_everything(schemathesis: Path, store: Path, examples: int, seconds: int) -> int:
    """Ask the service of a store; 1 if an answer was wrong."""
    environment = {**os.environ, "PYTHONPATH": "", "TRACEHOUSE_SERVE_FREE_BYTES": "0"}
    with ServiceProcess(store) as process:
        threading.Thread(target=process.read_log, daemon=True).start()
        document = f"{process.url}v1/openapi.json"
        done = subprocess.run(
            [
                schemathesis, "run", document, f"--checks={CHECKS}", *_OPTIONS,
                f"--max-examples={examples}", f"--max-time={seconds}",
            ],
            cwd=store.parent,
            env=environment,
        )  # fmt: skip
        with urllib.request.urlopen(f"{process.url}readyz", timeout=30) as answer:  # noqa: S310
            print(answer.read().decode())
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
