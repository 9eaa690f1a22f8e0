"""The entry point of `tracehouse`: ready for Ctrl-C before any other import."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

# Allocations between garbage collections: imports create 30,000 objects and no garbage.
_GARBAGE = 50_000


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line, by default the process's own, and return the exit status of a failure.

    A command line that succeeds or is malformed raises SystemExit instead. Ctrl-C ends the process
    at once, which is safe: a store survives being left at any moment.
    """
    if args is None:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # DuckDB delays Python's handler
        # numpy would start threads for linear algebra, which no command uses.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        gc.set_threshold(_GARBAGE)
    from tracehouse.cli.app import run

    if args is not None:
        return run(args)
    gc.freeze()  # imported objects stay, so collections need not look at them
    try:
        code: int | str | None = run(None)
    except SystemExit as end:
        code = end.code
    if isinstance(code, int):
        _end(code)
    sys.exit(code)


def _end(code: int) -> None:
    """Exit without tearing the interpreter down, which takes longer, unless threads still run."""
    if threading.active_count() == 1:
        with suppress(OSError):  # such as a full disk, which a regular exit reports
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
