from __future__ import annotations

import pytest

from tests.tools.drawings import DRAWINGS, FOLDER


@pytest.mark.parametrize("name", DRAWINGS)
def test_pictures_of_documents_are_what_the_product_draws_today(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == DRAWINGS[name]()
    assert "prefers-color-scheme: dark" in DRAWINGS[name]()
