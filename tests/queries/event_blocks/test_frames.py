from __future__ import annotations

import io
import sys

import pytest

from tracehouse.queries.event_blocks.frames import new_frame, write_tsv
from tracehouse.warehouse.errors import QueryError


def test_a_data_frame_needs_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(QueryError, match="a DataFrame needs pandas: pip install pandas"):
        new_frame({})


def test_columns_and_rows_make_a_data_frame():
    pytest.importorskip("pandas")
    frame = new_frame({"a": [1, 2], "b": ["x", None], "c": [[1], [2]]})
    assert frame["a"].tolist() == [1, 2]
    assert (frame["b"].dtype, frame["b"][1]) == (object, None)
    assert frame["c"][1] == [2]
    assert new_frame({"a": i} for i in range(2))["a"].tolist() == [0, 1]


def test_missing_values_are_empty_in_a_tsv():
    file = io.StringIO()
    write_tsv(file, {"a": [1e-06, float("nan")], "b": [None, ["x"]], "c": ['"', True]})
    assert file.getvalue() == '\ta\tb\tc\n0\t1e-06\t\t""""\n1\t\t[\'x\']\tTrue\n'
