from __future__ import annotations

import sys

import pyarrow as pa
import pytest

from tests.support.store_rows import Event, StoreRows
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.plots import plain_plots, write_answer

HOTSPOTS = pa.table({"event_name": ["add", "mul"], "self_share": [0.75, 0.25]})


def _history():
    store = StoreRows()
    for number, build in enumerate(("b1", "b2")):
        dump = store.add_dump(build=build)
        store.add_run(dump, [Event("Method::execute", 100 + 100 * number, 0)])
    from tests.support.store_rows import answer_query, find_query

    return answer_query(store.connect(), find_query("build_history"), {"event": "Method::execute"})


def test_plot_without_a_file_draws_on_the_terminal():
    assert plain_plots(["--plot"]) == ["--plot", "-"]
    assert plain_plots(["--plot", "--model", "m"]) == ["--plot", "-", "--model", "m"]
    assert plain_plots(["--model", "m", "--plot", "x.svg"]) == ["--model", "m", "--plot", "x.svg"]
    assert plain_plots([]) == []


@pytest.mark.slow
def test_percentiles_have_histograms_when_asked(run, store):
    plain = run("query", "percentiles", "--store", store).text
    drawn = run("query", "percentiles", "--plot", "--store", store).text
    assert "█" not in plain
    assert "from min to max" in drawn.splitlines()[0]
    assert "█" in drawn
    json = run("query", "percentiles", "--plot", "--format", "json", "--store", store).text
    assert json == run("query", "percentiles", "--format", "json", "--store", store).text


def test_an_answer_is_drawn_into_a_file_in_place_of_its_table(run, store, tmp_path):
    done = run("query", "percentiles", "--plot", tmp_path / "p.svg", "--store", store)
    assert (done.code, done.out, done.err) == (0, b"", "")
    assert (tmp_path / "p.svg").read_text().startswith("<svg")


@pytest.mark.slow
def test_an_answer_is_drawn_as_a_picture_too(run, store, tmp_path):
    done = run("query", "percentiles", "--plot", tmp_path / "p.PNG", "--store", store)
    assert (done.code, done.out, done.err) == (0, b"", "")
    assert (tmp_path / "p.PNG").read_bytes().startswith(b"\x89PNG\r\n")


def test_a_picture_says_what_it_lacks_before_a_store_is_asked(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    done = run("query", "percentiles", "--plot", tmp_path / "p.png", "--store", tmp_path / "none")
    assert done.code == 1
    assert "pip install '.[plots]' in a checkout" in done.err
    assert "ends in .svg" in done.err


def test_a_drawing_in_a_file_has_no_other_format(run, store, tmp_path):
    options = ("--plot", tmp_path / "p.svg", "--format", "json", "--store", store)
    done = run("query", "percentiles", *options)
    assert (done.code, done.out) == (2, b"")
    assert "wanted --plot FILE, whose suffix names the format, or --format, not both" in done.err
    assert not (tmp_path / "p.svg").exists()


@pytest.mark.slow
def test_an_answer_computed_in_python_is_drawn_too(run, nightly_store, tmp_path):
    done = run("query", "nightly_verdicts", "--plot", tmp_path / "v.svg", "--store", nightly_store)
    assert (done.code, done.err) == (0, "")
    assert "nightly_verdicts: delta" in (tmp_path / "v.svg").read_text()


@pytest.mark.parametrize(
    ("query", "plot", "problem"),
    [
        ("percentiles", "p.jpg", "p.jpg: wanted a file name that ends in .svg or .png"),
        ("operator_hotspots", None, "wanted FILE.svg or FILE.png"),
    ],
)
def test_an_impossible_drawing_is_a_usage_error(run, store, query, plot, problem):
    done = run("query", query, "--store", store, "--plot", *([plot] if plot else []))
    assert done.code == 2
    assert problem in " ".join(done.err.split())


def test_only_percentiles_are_plotted_on_a_terminal(run, tmp_path):
    done = run("query", "token_latency", "--plot", "--store", tmp_path)
    assert (done.code, "only percentiles are drawn on a terminal" in done.err) == (2, True)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_hotspots_have_bars_on_a_terminal_alone(capsys, monkeypatch, is_terminal):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    write_answer("operator_hotspots", HOTSPOTS, OutputOptions(), plot=None, params={})
    assert ("███" in capsys.readouterr().out) == is_terminal


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_history_is_followed_by_its_trends_on_a_terminal_alone(capsys, monkeypatch, is_terminal):
    table = _history()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    monkeypatch.setenv("COLUMNS", "300")
    write_answer("build_history", table, OutputOptions(), plot=None, params={})
    assert ("▁█" in capsys.readouterr().out) == is_terminal


@pytest.mark.parametrize("query", ["percentiles", "nightly_verdicts"])
def test_a_drawing_and_a_table_are_not_written_at_once(run, store, tmp_path, query):
    kept = tmp_path / "t.csv"
    kept.write_text("before")
    done = run("query", query, "--store", store, "--plot", tmp_path / "p.svg", "--output", kept)
    assert done.code == 2
    assert "wanted --plot FILE or --output FILE, not both" in " ".join(done.err.split())
    assert kept.read_text() == "before"
