from __future__ import annotations

import pytest

from tests.tools.pictures import FOLDER, PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_documents_are_what_the_product_draws_today(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PICTURES[name]()
    assert "prefers-color-scheme: dark" in PICTURES[name]()
