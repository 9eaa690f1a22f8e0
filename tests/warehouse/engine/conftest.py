"""Stores are made here, not copied: their making is what is tested."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def new_stores_are_copies():
    """Leave what makes a store as it is."""
