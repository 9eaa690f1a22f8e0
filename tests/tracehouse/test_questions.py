from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from tracehouse import AsyncClient, Client, Questions, Warehouse

NAMES = sorted(name for name in vars(Questions) if not name.startswith("_"))


def parameters(method: Callable[..., object]) -> list[tuple[str, object, object]]:
    return [
        (one.name, one.kind, one.default) for one in inspect.signature(method).parameters.values()
    ]


def test_questions_are_the_six_documented_methods() -> None:
    assert NAMES == ["compare", "query", "report", "schema", "sql", "status"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("asked", [Warehouse, Client, AsyncClient])
def test_a_store_and_its_clients_take_the_same_questions(asked: type, name: str) -> None:
    assert parameters(getattr(asked, name)) == parameters(getattr(Questions, name))
