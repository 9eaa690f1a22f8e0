"""Made-up farms: one that is plain, and others that are awkward in one way each."""

from __future__ import annotations

from tests.support.nightly_farm import record_build
from tests.tools.audit.farms import Amendment, Farm, farm, manifest
from tests.tools.audit.made_runs import Content, Tape, dump_of, execution, load, noise

BUILDS = {"old": {"ordinal": 1, "branch": "main"}, "new": {"ordinal": 2, "branch": "main"}}
RUNS = 26  # 21 are left after warm-up: an odd number has one middle
PHONE = {"pool": "lab", "os": "Android", "os_version": "15", "soc": "tensor"}


def _program(build: str, seed: tuple[int, ...], factor: int = 1) -> Content:
    """A run of the plain program: a delegate with two operators, then four kernels."""
    moves = [noise(*seed, place) for place in range(6)]
    conv = (20_000 + 10 * moves[0]) * (11 if build == "new" else 10) // 10
    kernels = [("convolution.out", conv), ("convolution.out", 9_000 + moves[1]),
               ("relu.out", 3_000 + moves[2])]  # fmt: skip
    kernels += [("sigmoid.out", 5_000 + moves[3])] if build == "new" else []
    gemm = 30_000 + moves[4] // 10 * 1_000
    steps = [("GEMM #1", gemm * factor), ("Clamp #2", 2_000 * factor)]
    return execution(
        [(name, ticks * factor) for name, ticks in kernels],
        delegate=(steps, (gemm + 2_400 + moves[5]) * factor),
        now=1_000_000 * (1 + seed[-1]),
    )


@farm
def plain() -> Farm:
    """Ten dumps of each of two builds on two devices, interleaved; nothing is odd about them."""
    made = Farm("plain")
    for hour in range(10):
        for place, (build, facts) in enumerate(BUILDS.items()):
            for factor, device in enumerate(("phone", "tablet"), start=1):
                runs = [load(40_000 + noise(hour, place))]
                runs += [_program(build, (hour, place, factor, n), factor) for n in range(RUNS)]
                more = 64 if build == "new" else 0
                counters = [
                    {"name": "energy", "unit": "mJ", "value": 900 + 7 * hour + more},
                    {"name": "cycles", "values": [None, *(5_000 + hour + n for n in range(RUNS))]},
                ]
                made.add(
                    dump_of(runs),
                    manifest(
                        device, build, "net", "xnnpack", hour=hour, build_facts=facts,
                        device_facts=PHONE if device == "phone" else {},
                        counters=counters, tokens=16 << (hour % 3),
                        tags={"in": {"h": 224, "w": 224}},
                        run={"threads": 4, "temperature_c": 30 + hour + (6 if more else 0)},
                    ),
                )  # fmt: skip
    return made


@farm
def clocks() -> Farm:
    """One program timed in every kind of tick, 32-bit clocks that wrap, and delegates apart."""
    made = Farm("clocks")
    kinds = {
        "us": {"unit": "us"},
        "ms": {"unit": "ms"},
        "cycles": {"unit": "cycles"},
        "hertz": {"unit": "cycles", "ticks_per_second": 19_200_000},
        "apart": {"unit": "ns", "delegates": {"XNNPACK": {"unit": "us"}}},
        "blind": {"unit": "ns", "delegates": {"xnnpack": {"unit": "cycles"}}},
    }
    for place, (device, clock) in enumerate(kinds.items()):
        for hour in range(2):
            runs = [_program("old", (hour, place, n)) for n in range(RUNS)]
            stated = manifest(device, "old", "net", "xnnpack", hour=hour, clock=clock,
                              build_facts=BUILDS["old"])  # fmt: skip
            made.add(dump_of([load(9_000 + hour), *runs]), stated)
    wrapping = [
        execution([("relu.out", 500 + n), ("mul.out", 0)], now=2**32 - 40 * n, wraps_at=2**32)
        for n in range(RUNS)
    ]
    made.add(dump_of(wrapping), manifest("wrap", "old", hour=1))
    named = [
        execution(
            [("relu.out", 50 + n)],
            delegate=([(("conv #7", 15), 20), (("conv #8", "Fused #3"), 30), ("Clamp#2", 5)], 90),
        )
        for n in range(RUNS)
    ]
    made.add(dump_of(named), manifest("named", "old", hour=1))
    idle = [execution([("relu.out", 0), ("mul.out", n % 2)]) for n in range(RUNS)]
    made.add(dump_of(idle), manifest("zero", "old", hour=2))
    return made


@farm
def faults() -> Farm:
    """Runs that failed, durations that cannot be, loops, empty runs; copies and wrong manifests."""
    right = {"build": {"id": "right", "ordinal": 5}, "device": {"pool": "lab"}}
    made = Farm(
        "faults",
        copies=(0, 2),
        amendments=(
            Amendment(
                {"build": "wrong"}, ("build=right", "build.ordinal=5", "device.pool=lab"), right
            ),
        ),
    )
    for hour, build in enumerate(("right", "wrong", "right")):
        runs = [load(5_000)]
        for n in range(RUNS):
            runs.append(_looping(hour, n))
            if n % 5 == 2:
                runs.append(_failing(hour, n))
        runs += [_loading(hour), _loading(hour, fails=True), _two_kernels(hour)]
        runs += [{"name": "Execute"}, {"name": "Execute", "events": []}, _impossible(hour)]
        facts = {} if build == "wrong" else {"ordinal": 5}
        stated = manifest("phone", build, hour=hour, build_facts=facts,
                          device_facts={} if build == "wrong" else {"pool": "lab"})  # fmt: skip
        made.add(dump_of(runs), stated)
    whole = dump_of([load(99)])
    made.broken = {"cut.etdp": whole[:40], "other.etdp": whole[:4] + b"ED01" + whole[8:8] + b"abcd"
                   + whole[12:], "short.etdp": b"ED00"}  # fmt: skip
    made.add(dump_of([]), manifest("phone", "empty", hour=4))
    made.add(dump_of([load(77)]), manifest("phone", "loaded", hour=5))
    return made


def _looping(seed: int, number: int) -> Content:
    tape = Tape(1_000 + number)
    for turn in range(3):
        tape.kernel("add.out", 100 + 10 * turn + noise(seed, number, turn), 1, chain=turn % 2)
    tape.kernel("add.out", 400 + noise(seed, number, 9), 2)
    tape.kernel("a kernel without a known name", 70 + noise(seed, number, 4), 3)
    tape.log("part of a kernel", tape.now - 20, 4)
    tape.kernel("custom::scale.out", 60 + noise(seed, number, 5), 4)
    tape.kernel("custom::scale.Tensor_out", 50, 4)
    tape.log("custom::unlogged_call.out", tape.now - 5, 5)
    tape.log("nothing that anybody knows", tape.now - noise(seed, below=400), 6)
    tape.log("Method::execute", 1_000 + number, 0, chain=-1)
    return tape.run()


def _failing(seed: int, number: int) -> Content:
    tape = Tape(5_000)
    tape.kernel("add.out", 90 + noise(seed, number), 1)
    return tape.run()


def _loading(seed: int, *, fails: bool = False) -> Content:
    """A run that loads its method and executes it."""
    tape = Tape(3_000)
    tape.log("Method::init", 2_000, 0, chain=-1)
    tape.kernel("add.out", 95 + seed, 1)
    if not fails:
        tape.log("Method::execute", 3_000, 0, chain=-1)
    return tape.run("Whole")


def _two_kernels(seed: int) -> Content:
    """A run with an operator of two kernels, and one whose second call logs none."""
    tape = Tape(3_000)
    called = tape.now
    for name in ("mul", "add"):
        start = tape.now
        tape.now += 40 + seed
        tape.log(f"native_call_{name}.out", start, 1)
    tape.log("OPERATOR_CALL", called, 1)
    tape.kernel("relu.out", 60 + seed, 2)
    tape.log("OPERATOR_CALL", tape.now, 2)
    tape.log("Method::execute", 2_900, 0, chain=-1)
    return tape.run("Two")


def _impossible(seed: int) -> Content:
    tape = Tape(9_000)
    tape.kernel("add.out", 90 + seed, 1)
    tape.log("Method::execute", 2**40, 0, chain=-1)
    return tape.run()


@farm
def memory() -> Farm:
    """Allocations by several allocators, one without a name, in some runs and in no run."""
    made = Farm("memory")
    for hour, (build, facts) in enumerate(BUILDS.items()):
        for more in (0, 32):
            runs = [_allocating(n, more + 64 * hour, coarse=1) for n in range(4)]
            made.add(dump_of(runs), manifest("phone", build, "net", hour=hour, build_facts=facts))
    quiet = [execution([("relu.out", 50 + n)]) for n in range(3)]
    made.add(dump_of(quiet), manifest("phone", "old", "quiet", hour=3, build_facts=BUILDS["old"]))
    return made


@farm
def coarse_memory() -> Farm:
    """The same by a clock so coarse that most events take no time, and by one that wraps."""
    made = Farm("coarse_memory")
    runs = [_allocating(n, 0, coarse=1_000) for n in range(4)]
    made.add(dump_of(runs), manifest("phone", "old", "net", hour=1))
    runs = [_allocating(n, 8, coarse=1, now=2**32 - 500, wraps_at=2**32) for n in range(4)]
    made.add(dump_of(runs), manifest("tablet", "old", "net", hour=1))
    return made


def _allocating(
    number: int, more: int, *, coarse: int, now: int = 4_000, wraps_at: int = 2**64
) -> Content:
    tape = Tape(now, wraps_at)
    tape.allocators = [{"name": "heap"}, {"name": "temp"}, {}]
    for instruction, kernel in ((2, "add.out"), (0, "mul.out"), (1, "add.out")):  # as a jump has it
        tape.allocate(1, 100 + more + instruction)
        if number != 2:
            tape.allocate(2, 8)
        tape.now += (300 + number) // coarse
        start = tape.now - 200 // coarse
        tape.log(f"native_call_{kernel}", start, instruction)
        tape.log("OPERATOR_CALL", start - 50 // coarse, instruction)
    tape.allocate(3, 5)
    tape.log("Method::execute", now, 0, chain=-1)
    if number == 3:
        tape.allocate(1, 1)
    return tape.run()


@farm
def even_runs() -> Farm:
    """Values of an even number of runs, half of them twice as long as the others; and no ticks."""
    made = Farm("even_runs")
    for hour in range(2):
        runs = [
            execution([("relu.out", 100_000 if n < 15 else 200_000)], now=1_000 + hour)
            for n in range(25)
        ]
        made.add(dump_of(runs), manifest("phone", "old", hour=hour))
    runs = [_still(3 if n == 20 else 0) for n in range(RUNS)]
    made.add(dump_of(runs), manifest("still", "old", hour=3))
    return made


def _still(ticks: int) -> Content:
    """A run in which the framework takes so many ticks, and its kernel none."""
    tape = Tape(5)
    tape.log("native_call_relu.out", 5, 0)
    tape.now += ticks
    tape.log("Method::execute", 5, 0, chain=-1)
    return tape.run()


def _method(kernels: int, ticks: int, seed: tuple[int, ...]) -> Content:
    names = ("mul.out", "llama::custom_sdpa.out")
    listed = [(names[place % 2], ticks + noise(*seed, place)) for place in range(kernels)]
    return execution(listed, now=10_000 * (1 + seed[-1]))


@farm
def language() -> Farm:
    """Prefill and decode in one dump, whose instruction ids coincide; more prompts in the new."""
    made = Farm("language")
    for hour in range(8):
        for place, (build, facts) in enumerate(BUILDS.items()):
            prompts = 26 + (20 if build == "new" else 0)
            runs = [load(30_000 + hour), load(20_000 + hour)]
            for n in range(48):
                if n < prompts:
                    runs.append(_method(4, 40_000, (hour, place, 1, n)))
                runs.append(_method(3, 1_000, (hour, place, 2, n)))
            made.add(dump_of(runs), manifest("phone", build, "llm", hour=hour, build_facts=facts))
    return made


@farm
def long_runs() -> Farm:
    """Dumps of more than 200 runs, which have histograms; one runs in two phases."""
    made = Farm("long_runs")
    for hour in range(2):
        runs = [
            execution([("relu.out", (10_000 if n >= 105 or hour else 400_000) + noise(hour, n))])
            for n in range(210)
        ]
        made.add(dump_of(runs), manifest("phone", f"b{hour}", hour=hour))
    return made


@farm
def mixed_clocks() -> Farm:
    """Devices of one pool, one with a clock of known rate and one without."""
    made = Farm("mixed_clocks")
    for hour, unit in enumerate(("ns", "cycles", "ns")):
        runs = [_program("old", (hour, 5, n)) for n in range(RUNS)]
        made.add(
            dump_of([load(500), *runs]),
            manifest(unit, "old", "net", "xnnpack", hour=hour, clock={"unit": unit},
                     build_facts=BUILDS["old"], device_facts={"pool": "lab"}),
        )  # fmt: skip
    return made


@farm
def branches() -> Farm:
    """One build id on two branches, with two ordinals."""
    made = Farm("branches")
    for hour, (branch, ordinal) in enumerate((("main", 0), ("topic", 1), ("main", 0))):
        runs = [execution([("relu.out", 5_000 + noise(hour, n))]) for n in range(RUNS)]
        facts = {"branch": branch, "ordinal": ordinal}
        made.add(dump_of(runs), manifest("phone", "b1", hour=hour, build_facts=facts))
    other = [execution([("relu.out", 6_000 + noise(7, n))]) for n in range(RUNS)]
    made.add(dump_of(other), manifest("phone", "b0", hour=4, build_facts={"ordinal": 0}))
    return made


@farm
def logged() -> Farm:
    """Values logged in two builds; on one device the new one gives another from one place on."""
    made = Farm("logged")
    for hour, (build, facts) in enumerate(BUILDS.items()):
        for place, device in enumerate(("same", "other")):
            runs = [load(50 + 10 * hour + place)]
            runs += [_logging(n, 9 if device == "other" and hour and n else 0) for n in range(3)]
            made.add(dump_of(runs), manifest(device, build, hour=hour, build_facts=facts))
    return made


def _logging(number: int, more: int) -> Content:
    tape = Tape(1_000 + number)
    for instruction, kernel in enumerate(("add.out", "mul.out", "add.out")):
        tape.value(10 * number + instruction, instruction)
        tape.value(5 + (more if instruction > 0 else 0), instruction)
        tape.kernel(kernel, 90 + instruction, instruction)
    tape.log("Method::execute", 1_000 + number, 0, chain=-1)
    return tape.run()


@farm
def steps() -> Farm:
    """Fourteen nights of a device: an operator slower until it is fixed, others from a night on."""
    made = Farm("steps", is_quick=False)
    for number in range(14):
        slower = {"native_call_convolution.out": 1.15} if 5 <= number < 9 else {}
        slower |= {"native_call_relu.out": 0.9} if number >= 11 else {}
        slower |= {"native_call_add.out": 1.5} if number >= 13 else {}
        for hour, dump in enumerate(record_build(number, slower)):
            stated = manifest(
                "phone", f"b{number}", hour=24 * number + hour, device_facts={"pool": "lab"},
                build_facts={"ordinal": number},
            )  # fmt: skip
            made.add(bytes(dump.read()), stated)
    return made
