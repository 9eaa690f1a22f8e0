"""A real model that was made wider and got another activation, and why it is slower."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.softplus import softplus_explanation, softplus_store
from tracehouse import Warehouse
from tracehouse.queries.explain.content import Explanation, Place


@pytest.fixture(scope="session")
def softplus() -> Iterator[Warehouse]:
    """The store of tests/support/softplus.py, open for reading."""
    with Warehouse.open(softplus_store(), read_only=True) as store:
        yield store


@pytest.fixture(scope="session")
def explained() -> Explanation:
    """The explanation of the slower convolution."""
    return softplus_explanation()


@pytest.fixture(scope="session")
def place() -> Place:
    """The model before and after the change."""
    return Place(device="lab-x86", pool=None, model="net", backend="xnnpack", base="b6", head="b7")
