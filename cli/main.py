"""The entry point of `tracehouse`: ready for Ctrl-C before anything else is imported."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

# Objects made between two searches for garbage: imports make 30,000, none of which is any.
_GARBAGE = 50_000


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line, by default the process's own, which ends then; the status if it fails.

    A command line that succeeds or is malformed ends in SystemExit instead. Ctrl-C ends the
    process at once: a store can be left at any moment.
    """
    if args is None:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a busy DuckDB may never hear Python's
        # numpy would start threads for algebra that no command does; they cost more than the rest.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        gc.set_threshold(_GARBAGE)
    from cli.app import run

    if args is not None:
        return run(args)
    gc.freeze()  # what is imported now stays: no search for garbage need look at it
    try:
        code: int | str | None = run(None)
    except SystemExit as end:
        code = end.code
    if isinstance(code, int):
        _end(code)
    sys.exit(code)


def _end(code: int) -> None:
    """End the process, unless something is left to do: to take Python apart takes longer."""
    if threading.active_count() == 1:
        with suppress(OSError):  # of a full disk, say, which Python's own end tells too
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
