"""Moments at which a process may be killed or interrupted: around named functions of the product.

A moment is before or after a call of a function; of a context manager, at the end of its body or
after it. The product knows nothing of moments: they are put around its functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from importlib import import_module
from typing import Any, NamedTuple
from unittest.mock import patch

_PACKAGE = "tracehouse.warehouse."

Hook = Callable[[str], object]


class Moment(NamedTuple):
    """Where a moment is.

    Attributes:
        function: MODULE:NAME of the function, as the module that calls it names it.
        when: before or after a call; within or behind the body of a context manager.
        path: What the path must contain that the function is called with, if it has one.
    """

    function: str
    when: str
    path: str = ""


MOMENTS = {
    "log append": Moment("inbox.log:write_all", "after"),
    "log sync": Moment("inbox.log:sync_data", "before"),
    "log synced": Moment("inbox.log:sync_data", "after"),
    "log seal": Moment("inbox.drain:seal_logs", "after"),
    "log clear": Moment("inbox.drain:delete_log", "before"),
    "spool sync": Moment("inbox.spools:sync_data", "before"),
    "spool sealed": Moment("inbox.spools:rename", "after"),
    "claim": Moment("inbox.drain:ingest_dumps", "before"),
    "decoded": Moment("load.loader:Loader.load", "before"),
    "seal": Moment("archive.segments:rename", "before"),
    "sealed": Moment("archive.segments:rename", "after"),
    "commit": Moment("archive.history:History.seal", "after"),
    "committed": Moment("archive.history:transaction", "behind"),
    "log sum": Moment("engine.connection:record_commit", "before"),
    "checkpoint": Moment("engine.writer:Writer.checkpoint", "before"),
    "delete segment": Moment("archive.segments:Segment.delete", "before"),
    "erase snapshots": Moment("upkeep.forget:delete_snapshots", "before"),
    "erased": Moment("upkeep.forget:_mark_erased", "before"),
    "set aside": Moment("pathlib:Path.rename", "before", ".old-"),
    "swap": Moment("engine.store_file:rename", "before"),
    "swapped": Moment("engine.store_file:rename", "after"),
    "publish": Moment("opening.snapshots:_copy", "after"),
    "published": Moment("opening.snapshots:seal_file", "after"),
    "lake file": Moment("lake.place:Lake.writing", "within"),
    "lake commit": Moment("lake.place:Lake.write", "before", "commits/"),
    "lake committed": Moment("lake.place:Lake.write", "after", "commits/"),
}


@contextmanager
def watched(hook: Hook) -> Iterator[None]:
    """Call a function with the name of each moment that the body reaches."""
    with ExitStack() as stack:
        for name, moment in MOMENTS.items():
            stack.enter_context(_put_around(name, moment, hook))
        yield


def _put_around(name: str, moment: Moment, hook: Hook) -> Any:
    module, _, path = moment.function.partition(":")
    owner: Any = import_module(module if module == "pathlib" else _PACKAGE + module)
    *outer, last = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    wrap = _wrap_context if moment.when in ("within", "behind") else _wrap_call
    return patch.object(owner, last, wrap(getattr(owner, last), name, moment, hook))


def _wrap_call(real: Callable[..., Any], name: str, moment: Moment, hook: Hook) -> Any:
    @wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        is_met = not moment.path or any(moment.path in str(value) for value in args)
        if is_met and moment.when == "before":
            hook(name)
        result = real(*args, **kwargs)
        if is_met and moment.when == "after":
            hook(name)
        return result

    return call


def _wrap_context(real: Callable[..., Any], name: str, moment: Moment, hook: Hook) -> Any:
    @wraps(real)
    @contextmanager
    def enter(*args: Any, **kwargs: Any) -> Iterator[Any]:
        with real(*args, **kwargs) as value:
            yield value
            if moment.when == "within":
                hook(name)
        if moment.when == "behind":
            hook(name)

    return enter
