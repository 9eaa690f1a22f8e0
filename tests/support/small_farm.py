"""A small farm: two devices, two builds, ten dumps each, made by arithmetic."""

from __future__ import annotations

from datetime import timedelta

from tests.support.store_rows import LONG_AGO, Event, StoreRows

RUNS = 26
DUMPS = 10


def small_farm(runs: int = RUNS):
    """A connection to the farm's store; fewer `runs` suffice for tests that only look at rows.

    The new build's convolution is 10 % slower and it has one more operator; the second device has
    neither a pool nor a backend, and times its delegate in cycles of unknown rate. Kernels run the
    module "conv", the delegate the module "head". The first run of the program logs values; on the
    tablet the new build's relu gives another.
    """
    store = StoreRows()
    store.add_build("old", ordinal=1)
    store.add_build("new", ordinal=2)
    devices = (
        {"device": "phone", "pool": "lab", "backend": "xnnpack"},
        {"device": "tablet", "backend": None, "delegate_ns_per_tick": None},
    )
    for number in range(DUMPS):
        for build in ("old", "new"):
            for device in devices:
                captured_at = LONG_AGO + timedelta(hours=number)
                dump = store.add_dump(
                    build=build, captured_at=captured_at, etrecord=f"{build}.etrecord", **device
                )
                load = [Event("Method::init", 900 + number, 0, chain=-1)]
                store.add_run(dump, load, name="Default")
                for run in range(runs):
                    store.add_run(dump, _execute(build, 7919 * (number * runs + run)))
                relu = 3 if build == "new" else 2
                differs = build if device["device"] == "tablet" else "same"
                values = [(0, "a"), (1, "b"), (relu, f"c {differs}"), (relu, number / 2)]
                store.add_values(dump, values, run_index=1)
    store.add_note("driver update", "new", device="phone")
    store.add_note("known: see PR 123", "old", model="net", event_name="x", ordinal=2)
    store.add_error("001.etdp")
    store.add_error("cut.etdp", sha256="0" * 64, refused_at=LONG_AGO + timedelta(hours=3))
    return store.connect()


def _execute(build, seed):
    noise = [seed * (position + 1) % 101 for position in range(4)]
    conv = (20000 + noise[0] * 10) * (11 if build == "new" else 10) // 10
    gemm = 30000 + noise[1] // 10 * 1000
    ops = [("native_call_conv.out", conv)]
    ops += [("native_call_sigmoid.out", 5000 + noise[2])] if build == "new" else []
    ops += [("native_call_relu.out", 2000 + noise[3])]
    events = [
        Event("", gemm, 0, "GEMM #1", modules=("", "head")),
        Event("DELEGATE_CALL", gemm + 700 + noise[2], 0),
    ]
    for instruction, (name, ticks) in enumerate(ops, start=1):
        events.append(Event(name, ticks, instruction, modules=("", "conv")))
        events.append(Event("OPERATOR_CALL", ticks + 300 + noise[1], instruction))
    total = sum(event.ticks for event in events if event.name.endswith("_CALL"))
    return [*events, Event("Method::execute", total + 1000 + noise[3], 0, chain=-1)]
