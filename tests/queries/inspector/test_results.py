from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from tracehouse import EventBlock
from tracehouse.queries.inspector.results import compare_results
from tracehouse.queries.numeric_gap import output_gap
from tracehouse.warehouse.errors import QueryError

A = np.arange(1, 17, dtype=np.float32).reshape(4, 4)


def near(array):
    other = array.copy()
    other[0, 0] += 1
    other[1, 3] -= 1
    return other


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_outputs_near_their_reference_have_a_small_error(dtype, capsys):
    reference = A.astype(dtype)
    results = compare_results([reference], [near(reference)])
    assert results == {"snr": [28.74], "mse": [0.12], "cosine_similarity": [1.0]}
    assert capsys.readouterr().out.splitlines()[:4] == ["snr", "-" * 20, "0    28.74000", ""]


def test_only_requested_metrics_are_compared():
    assert [*compare_results([A], [A], metrics=["mse"])] == ["mse"]


def test_gaps_of_values_that_are_no_tensors_are_none_and_nan_stays_nan(capsys):
    results = compare_results([3, np.array([math.nan])], [3, np.array([1.0])], ["mse"])
    assert results["mse"][0] is None
    assert math.isnan(results["mse"][1])
    assert "none" in capsys.readouterr().out


def test_shapes_that_differ_are_an_error_as_in_the_inspector():
    with pytest.raises(ValueError, match=r"cannot compare the shapes \(4, 4\) and \(16,\)"):
        compare_results([A], [A.reshape(16)])


def test_event_blocks_give_the_table_of_all():
    block = EventBlock("Execute", run_output=[near(A)], reference_output=[A], method="forward")
    for table in (compare_results([block]), output_gap.compare_results([block])):
        [row] = table.to_pylist()
        assert (row["event_block_name"], row["method"], row["verdict"]) == (
            "Execute", "forward", "different",
        )  # fmt: skip
        assert row["mse"] == 0.125
    assert "snr" not in compare_results([block], metrics=["mse"]).column_names


def test_outputs_alone_are_refused():
    with pytest.raises(TypeError, match="wanted run_output, or event blocks alone"):
        compare_results([A])


def test_a_plot_needs_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(QueryError, match="a plot needs matplotlib: pip install matplotlib"):
        compare_results([A], [A], plot=True)


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_a_plot_is_saved_per_metric(monkeypatch, tmp_path, capsys):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    compare_results([A, A], [near(A), A], plot=True)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}_output_plot.png" for name in ("snr", "mse", "cosine_similarity")
    }
    assert capsys.readouterr().out == ""
