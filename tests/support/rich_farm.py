"""A farm with more than the small one: loads, prompts and tokens, two backends, memory, lines."""

from __future__ import annotations

from datetime import timedelta

import duckdb

from tests.support.store_rows import LONG_AGO, Event, StoreRows

TOKENS = 30
OUTLIER = 20  # the token that takes twice as long


def rich_farm() -> duckdb.DuckDBPyConnection:
    """A connection to the farm's store.

    A language model on a phone and a tablet, on portable kernels and in a delegate. Each dump loads
    it, reads a prompt and writes tokens, each a tick slower than the one before and the first three
    much slower. The new build was not recorded on the tablet, and allocates more. The first dump of
    a build is of 16 tokens of input, the second of 32, for which everything takes twice as long.
    """
    store = StoreRows()
    store.add_build("old", ordinal=1)
    store.add_build("new", ordinal=2)
    for build, device, pool in (
        ("old", "phone", "lab"),
        ("old", "tablet", None),
        ("new", "phone", "lab"),
    ):
        for backend in ("portable", "xnnpack"):
            for number in range(2):
                dump = store.add_dump(
                    device=device,
                    pool=pool,
                    build=build,
                    model="llm",
                    backend=backend,
                    tags={"tokens": 16 << number},
                    captured_at=LONG_AGO + timedelta(hours=number),
                    etrecord=f"{build} {backend}.etrecord",
                    run={"threads": 4},
                )
                _add_runs(store, dump, backend, 2 if device == "tablet" else 1, number)
                more = 64 if build == "new" else 0
                store.add_allocations(dump, ("method", 4096), ("method", 512), run_index=0)
                store.add_allocations(dump, ("temp", 1024 + more), run_index=1)
                store.add_counter(dump, "energy", 900 + 100 * number + more)
                store.add_counter(dump, "cycles", [None, 5_000, 700 + more, 710], unit="count")
    return store.connect()


def _add_runs(store, dump, backend, factor, number):
    events = _portable if backend == "portable" else _delegated
    load = [
        Event("Program::load_method", 2000 * factor, chain=-1),
        Event("Method::init", 1500 * factor, chain=-1),
    ]
    store.add_run(dump, load, name="Default")
    start, ticks = 10_000, 16_000 * factor << number
    store.add_run(dump, events(ticks, 0), start=start)
    for token in range(1, TOKENS + 1):
        start += 2 * ticks
        ticks = (factor * (1000 + token) << number) * (4 if token <= 3 else 1)
        ticks *= 2 if token == OUTLIER else 1
        store.add_run(dump, events(ticks, 10), start=start)


def _portable(ticks, first):
    """A run on kernels; the instructions of a method start at its first."""
    parts = [("mul", "body.attn", 7), ("softmax", "body.attn", 8), ("addmm", "head", 9)]
    calls = []
    for place, (kernel, module, line) in enumerate(parts, start=first):
        where = {"modules": _above(module), "line": f"/src/net.py:{line}"}
        calls += [
            Event(f"native_call_{kernel}.out", ticks, place, **where),
            Event("OPERATOR_CALL", ticks + 10, place),
        ]
    return [*calls, Event("Method::execute", 3 * ticks + 90, 0, chain=-1)]


def _delegated(ticks, first):
    """The same with the first kernel and the last in delegates; the latter logs no operators."""
    attention = {"modules": _above("body.attn"), "ran_on": "XnnpackBackend"}
    head = {"modules": _above("head"), "ran_on": "XnnpackBackend"}
    return [
        Event("", ticks // 8, first, "MUL #1"),
        Event("", ticks // 8, first, "Copy #2"),
        Event("DELEGATE_CALL", ticks // 4 + 20, first, **attention),
        Event(
            "native_call_softmax.out", ticks, first + 1, modules=_above("body.attn"),
            line="/src/net.py:8",
        ),
        Event("OPERATOR_CALL", ticks + 10, first + 1),
        Event("DELEGATE_CALL", ticks // 4, first + 2, **head),
        Event("Method::execute", ticks * 3 // 2 + 90, 0, chain=-1),
    ]  # fmt: skip


def _above(module):
    """The module and the modules around it, from the outermost."""
    parts = module.split(".")
    return ("", *(".".join(parts[: n + 1]) for n in range(len(parts))))
