import gc
import os

import pytest
from hypothesis import settings

# What terminals look like is each test's to say, not the shell's or the CI runner's.
for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
    os.environ.pop(name, None)

# A busy machine is no failure; CI has the time for as many examples as there are by default.
settings.register_profile(
    "unhurried", deadline=None, max_examples=100 if "CI" in os.environ else 40
)
settings.load_profile("unhurried")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One more than there are cores, for some tests wait for something else."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported and collected stays: the garbage collector need not look through it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc):
    """Of the parameters that `-m 'not slow'` leaves out nothing is made, which takes seconds."""
    if metafunc.config.option.markexpr == "not slow" and metafunc._calls:
        is_slow = any(metafunc.definition.iter_markers("slow"))
        quick = [call for call in metafunc._calls if not (is_slow or _is_slow(call))]
        metafunc._calls = quick or metafunc._calls[:1]


def _is_slow(call):
    return any(mark.name == "slow" for mark in call.marks)


def pytest_unconfigure():
    gc.unfreeze()  # or what is left at the end would be taken for leaked


def pytest_addoption(parser):
    parser.addoption(
        "--refresh-golden",
        action="store_true",
        help="rewrite tests/golden from what the queries answer now",
    )


@pytest.fixture(scope="module", autouse=True)
def new_stores_are_copies():
    """What makes a store copies one, but where the making is what is tested."""
    from tests.support.store_template import copy_template

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("warehouse.engine.writer._build", copy_template)
        yield
