"""Farms whose dumps differ in all that filters go by, so that any filter leaves some of them out.

Names differ in case or in one letter, some have letters of a glob, and some have accents. Builds
have no ordinals, so that their order is that of all their recordings, whatever is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.support.corpus import CORPUS, read_dump
from tests.support.etdump_builder import build_etdump
from tests.support.nightly_farm import record_build
from tests.support.reference_reader import read_reference
from tests.tools.audit.farms import Farm, manifest
from tests.tools.audit.made_runs import Content, Tape, dump_of, load, noise

BUILDS = ("b1", "b2", "B1", "fork")
DEVICES = ("pixel8", "Pixel8", "tab[1]", "tab1", "Mühle")
MODELS = (("net", "xnnpack"), ("net", None), ("net[2]", "vulkan"), ("Net", "xnnpack"))
PROMPTED = MODELS[3]
KERNELS = ("add.out", "mul.out", "add.out")
POOLS = ("lab", "Lab", "Büro", None)
SITES = ("north", "North", "süd", None)
MODES = (3, "3", "hot", True, None)
ZONES = ("Z", "+00:00", "")
MANY_RUNS, FEW_RUNS = 25, 4  # those of a dump that comparisons take, and of one that they do not


def crossed() -> Farm:
    """Dumps of each build with each device or model, and what dumps may log in some of them."""
    made = Farm("crossed", broken={"cut.etdp": dump_of([load(99)])[:40], "short.etdp": b"ED00"})
    random = Random(20261129)  # noqa: S311 - facts of a test
    cells = [(build, device, model) for build in BUILDS[:2]
             for device in DEVICES for model in MODELS[:3] if device != DEVICES[3]]  # fmt: skip
    cells += [(build, device, MODELS[3]) for build in BUILDS for device in DEVICES[:2]]
    cells += [(build, device, MODELS[0]) for build in BUILDS[2:] for device in DEVICES]
    for number, (build, device, model) in enumerate(cells + cells[::3]):
        made.add(
            dump_of(_runs(number, model)),
            _stated(random, number, device, build, *model),
        )
    made.notes = [
        {"build": build, "device": device, "model": model}
        for build, device, (model, _) in cells[::4]
    ]
    return made


def _stated(random: Random, number: int, *names: str | None) -> dict[str, Any]:
    """The manifest of a dump with these names; no two have the same time."""
    tags: dict[str, Any] = {"site": random.choice(SITES), "mode": random.choice(MODES)}
    tags = {key: value for key, value in tags.items() if value is not None}
    minutes = 37 * number % 600
    time = f"2026-01-02T{minutes // 60:02}:{minutes % 60:02}:00.5{random.choice(ZONES)}"
    pool = random.choice(POOLS)
    device, build, model, backend = names
    stated = manifest(
        str(device),
        str(build),
        str(model),
        backend,
        build_facts={"branch": "main"},
        device_facts={"os": random.choice(("Android", "iOS"))} | ({"pool": pool} if pool else {}),
        tags=tags,
        size=64 << number % 3,
        run={"threads": random.choice((1, 4)), "temperature_c": 30 + number % 7},
        counters=[{"name": "energy", "unit": "mJ", "value": 90 + number}],
        **{"in": {"h": random.choice((224, 320))}},
    )
    del stated["captured_at"]
    return stated | ({} if number % 12 == 7 else {"captured_at": time})


def _runs(number: int, model: tuple[str, str | None]) -> list[Content]:
    """A load, and executions; those of one model begin with a prompt, which has a kernel more."""
    count = FEW_RUNS if number % 3 == 2 else MANY_RUNS
    runs = [load(4_000 + number)]
    for n in range(-1 if model == PROMPTED else 0, count):
        kernels = KERNELS if n >= 0 else (*KERNELS, "relu.out")
        runs.append(_execution((number, n), model[1], kernels, is_logged=count == FEW_RUNS))
    if number % 5 == 0:
        runs.insert(3, _failure(number))
    return runs


def _execution(
    seed: tuple[int, int], backend: str | None, kernels: tuple[str, ...], *, is_logged: bool
) -> Content:
    """A run with a delegate where there is a backend.

    One that is logged allocates and has values; one of many is slow.
    """
    tape = Tape(1_000 * (2 + seed[1]))
    slower = 3 if seed[0] % 2 and seed[1] == MANY_RUNS - 3 else 1
    tape.allocators = [{"name": "heap"}] if is_logged else []
    start, first = tape.now, 0
    if backend is not None:
        steps = [("GEMM #1", 3_000 + noise(*seed, 1)), ("Clamp #2", 2_000 + noise(*seed, 2))]
        tape.delegate(steps, 5_400 + noise(*seed, 3), 0)
        first = 1
    for instruction, kernel in enumerate(kernels, start=first):
        if is_logged:
            tape.allocate(1, 64 + seed[0] % 2)
            tape.value(seed[0] % 3 + instruction, instruction)
        ticks = 2_000 + noise(*seed, 4 + instruction)
        tape.kernel(kernel, slower * ticks, instruction)
    tape.log("Method::execute", start, 0, chain=-1)
    return tape.run()


def _failure(seed: int) -> Content:
    tape = Tape(5_000)
    tape.kernel("add.out", 90 + seed, 1)
    return tape.run()


def crossed_programs() -> Farm:
    """Real dumps with the ETRecord of their program, each retimed, of one program or another."""
    made, random = Farm("crossed_programs"), Random(20261130)  # noqa: S311 - facts of a test
    programs = (
        ("mixed_xnnpack_n20", "mixed_xnnpack"),
        ("multiout_portable_n3", "multiout_portable"),
    )
    for number in range(16):
        dump, record = programs[number % 4 == 3]
        data = _retimed(read_dump(f"real/{dump}"), 20 + number)
        names = (DEVICES[number // 4 % 2], BUILDS[number // 8 % 2], record.split("_")[0])
        backend = "again" if number % 2 else "xnnpack"
        made.add(data, _stated(random, number, *names, backend))
        made.etrecords[number] = CORPUS / "models" / f"{record}.etrecord"
    return made


def _retimed(data: bytes, twentieths: int) -> bytes:
    """A dump whose clock ran as many twentieths as fast."""
    content = read_reference(data)
    for run in content["run_data"]:
        for event in run.get("events", ()):
            for name in ("start_time", "end_time") if "profile_event" in event else ():
                event["profile_event"][name] = event["profile_event"][name] * twentieths // 20
    return build_etdump(content)


def crossed_nights() -> Farm:
    """Five nights of two devices and a second model, of which operators became slower."""
    made = Farm("crossed_nights")
    series = (("pixel8", "lab", "net", "xnnpack"), ("Pixel8", "lab", "net", "xnnpack"),
              ("pixel8", "lab", "net2", "vulkan"))  # fmt: skip
    for night in range(5):
        slower = {"native_call_convolution.out": 1.2} if night >= 3 else {}
        for device, pool, model, backend in series:
            own = slower | ({"native_call_relu.out": 0.8} if night >= 4 else {})
            dumps = record_build(night, own if device == "Pixel8" else slower, device=device,
                                 model=model)  # fmt: skip
            for hour, dump in enumerate(dumps):
                made.add(bytes(dump.read()), manifest(
                    device, f"b{night}", model, backend, hour=24 * night + hour,
                    device_facts={"pool": pool} if pool else {}, build_facts={"ordinal": night},
                ))  # fmt: skip
    return made


CROSSED: dict[str, Callable[[], Farm]] = {
    make.__name__: make for make in (crossed, crossed_programs, crossed_nights)
}
