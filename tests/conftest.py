import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.layers import GUARD, LAYERS, layer_of

TESTS = Path(__file__).parent

# What terminals look like is each test's to say, not the shell's or the CI runner's.
for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
    os.environ.pop(name, None)

# A busy machine is no failure; `make test-all` tries as many examples as there are by default.
settings.register_profile("thorough", deadline=None, max_examples=100)
settings.register_profile("brief", deadline=None, max_examples=25)
settings.load_profile("brief")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is imported and collected stays: the garbage collector need not look through it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark every test with its layer, before `-m` chooses."""
    for item in items:
        if not _layers(item):
            item.add_marker(layer_of(item.path.relative_to(TESTS).as_posix()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Fail what the layer of a test does not allow."""
    GUARD.layer, GUARD.broken = _layers(item)[0], []
    try:
        return (yield)
    finally:
        GUARD.layer = "system"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a test although it got over the refusal of what its layer does not allow."""
    result = yield
    broken, GUARD.broken = GUARD.broken, []
    assert not broken, broken
    return result


def _layers(item):
    """Marks of layers on a test, the closest first."""
    return [mark.name for mark in item.iter_markers() if mark.name in LAYERS]


def pytest_configure():
    GUARD.watch()


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
        patched.setattr("tracehouse.warehouse.engine.writer._build", copy_template)
        yield
