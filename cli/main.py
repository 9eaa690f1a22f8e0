"""The entry point of `tracehouse`: ready for Ctrl-C before anything else is imported."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line, by default the process's own; the exit status if it fails.

    A command line that succeeds or is malformed ends in SystemExit instead. Ctrl-C ends the
    process at once: a store can be left at any moment.
    """
    if args is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a busy DuckDB may never hear Python's
        # numpy would start threads for algebra that no command does; they cost more than the rest.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from cli.app import run

    if args is None:
        gc.freeze()  # what is imported now stays: no search for garbage need look at it
    return run(args)
