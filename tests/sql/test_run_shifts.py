import pytest

from tests.support.builds import Builds
from tests.support.store_rows import Event, run_by_device

KERNELS = [f"native_call_op{number}.out" for number in range(6)]
TICKS = 100_000


def _kernels(*percents):
    """An event of each kernel, slower by so many per cent, and what is no vote."""
    events = [
        Event(name, TICKS * (100 + percent) // 100, number)
        for number, (name, percent) in enumerate(zip(KERNELS, percents, strict=False), start=1)
    ]
    return [*events, Event("Method::execute", 9 * TICKS, 0, chain=-1)]


USUAL = _kernels(*[0] * 6)
TWINS = [Event(KERNELS[0], 2 * TICKS, number) for number in range(10, 15)]
GEMMS = [Event("", TICKS, 8, f"GEMM #{number}") for number in (1, 2)]
SHORT = [event._replace(ticks=900) for event in USUAL]
# By name: a run of the old and one of the new build; how many operators and kernels vote; what for.
CASES = {
    # All are known equally well, so the third of six in order has half of the weight.
    "six kernels": (USUAL, _kernels(9, 1, 7, 5, 3, 11), 6, 6, 0.05, "slower"),
    "faster": (USUAL, _kernels(*[-4] * 6), 6, 6, -0.04, "faster"),
    "hardly slower": (USUAL, _kernels(*[2] * 6), 6, 6, 0.02, "steady"),
    "hardly faster": (USUAL, _kernels(*[-2] * 6), 6, 6, -0.02, "steady"),
    "one slower": (USUAL, _kernels(80, 0, 0, 0, 0, 0), 6, 6, 0, "steady"),
    # A kernel that runs often has one vote.
    "twins": (
        USUAL + TWINS,
        USUAL + [twin._replace(ticks=3 * TICKS) for twin in TWINS],
        11, 6, 0, "steady",
    ),
    # Operators of a delegate vote by name.
    "delegate": (USUAL + GEMMS, USUAL + GEMMS, 8, 7, 0, "steady"),
    "five kernels": (_kernels(*[0] * 5), _kernels(*[50] * 5), 5, 5, None, "too_few_kernels"),
    "short": (SHORT, SHORT, 0, 0, None, "too_few_kernels"),
    "few dumps": (USUAL, USUAL, 0, 0, None, "too_few_kernels"),
    "ticks": (USUAL, _kernels(*[10] * 6), 6, 6, 0.1, "slower"),
}  # fmt: skip


def _noisy(dump, factor):
    """Three kernels that are known well, and three that each dump tells otherwise."""
    noise = TICKS * (100 + 10 * dump) // 100
    known = dict.fromkeys(KERNELS[:3], factor * TICKS)
    return known | dict.fromkeys(KERNELS[3:], noise)


@pytest.fixture(scope="module")
def rows():
    builds = Builds()
    for device, (old, new, *_) in CASES.items():
        count = 4 if device == "few dumps" else 5
        clock = {"ns_per_tick": None} if device == "ticks" else {}
        builds.add([old] * count, [new] * count, device=device, **clock)
    sides = ([_noisy(dump, factor) for dump in range(10)] for factor in (1, 2))
    builds.add(*sides, device="noisy")
    builds.add([USUAL] * 5, [], device="old alone")
    builds.add([], [USUAL] * 5, device="new alone")
    return run_by_device(builds.connect(), "run_shifts", base="base", head="head")


def test_shift_is_the_weighted_median_of_kernels(rows):
    for device, (*_, operators, kernels, shift, verdict) in CASES.items():
        few = device == "few dumps"
        assert rows[device] == [
            {
                "device": device,
                "model": "net",
                "backend": "xnnpack",
                "base_count": 4 if few else 5,
                "head_count": 4 if few else 5,
                "operator_count": operators,
                "kernel_count": kernels,
                "shift": None if shift is None else pytest.approx(shift),
                "verdict": verdict,
            }
        ]


def test_kernel_that_is_known_well_weighs_more(rows):
    assert [row["shift"] for row in rows["noisy"]] == [pytest.approx(1)]


def test_device_that_one_of_the_builds_lacks_is_not_compared(rows):
    assert rows["old alone"] == rows["new alone"] == []
