from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracehouse.ingest.allowance import Allowance, AllowanceError
from tracehouse.warehouse.programs.method_origins import DelegateIds, WordIndex

TEXTS = st.text("ab1_ (é\n", max_size=8)


def words_by_trying_all(text, keys):
    inside = sorted((key for key in keys if key and key in text), key=len, reverse=True)
    if not inside:
        return []
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, inside))})(?!\w)"
    return list(dict.fromkeys(re.findall(pattern, text)))


@given(TEXTS | st.text("ab (", max_size=30), st.lists(TEXTS, max_size=12))
def test_the_word_index_finds_the_same_words_as_trying_all_keys(text, keys):
    assert WordIndex(keys).find(text, Allowance(10_000, "")) == words_by_trying_all(text, keys)


@pytest.mark.slow
def test_looking_up_an_id_costs_what_its_words_cost_and_not_all_keys():
    ids = DelegateIds({f"op{i}": i for i in range(100_000)})
    allowance = Allowance(20_000 * 40, "letters")
    for i in range(20_000):
        assert ids.find(f"op{i} (fused)", allowance) == i


def test_work_beyond_the_allowance_is_refused():
    ids = DelegateIds({"a" + " a" * i: [i] for i in range(300)})
    with pytest.raises(AllowanceError):
        ids.find("a " * 10_000, Allowance(1_000_000, "letters"))
    many = DelegateIds({f"k{i}": list(range(1_000)) for i in range(1_000)})
    with pytest.raises(AllowanceError):
        many.find(" ".join(f"k{i}" for i in range(1_000)), Allowance(1_000_000, "bytes"))
