from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from tests.support.command import Run
from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import (
    EDGE,
    MODELS,
    build_etrecord,
    build_program,
    build_zip,
    node,
)

RECORD = MODELS / "mixed_xnnpack.etrecord"
TWINS = MODELS / "twins_portable.etrecord"


def test_graphs_handles_and_delegates_are_shown_as_text(run: Run) -> None:
    lines = run("etrecord", "show", RECORD).text.splitlines()
    assert lines[0] == "# exported_program, method forward"
    assert "# edge_dialect_exported_program, method forward" in lines
    handles = lines[lines.index("# debug handles") + 1 :]
    assert handles[0].split() == ["method", "instruction_id", "debug_handles", "output_count"]
    assert handles[1].split() == ["forward", "0", "1,", "2", "1"]
    assert handles[2].split() == ["forward", "1", "3"]
    delegates = lines[lines.index("# delegates") + 2 :]
    assert [line.split() for line in delegates] == [
        ["forward", str(instruction), "XnnpackBackend"] for instruction in (0, 2, 4, 6)
    ]


def test_showing_one_graph_prints_only_its_code(run: Run) -> None:
    text = run("etrecord", "show", RECORD, "--graph", "exported_program").text
    assert text.startswith("# exported_program, method forward\ndef forward(")
    assert text.count("\ndef ") == 1
    assert "debug handles" not in text


def test_etrecord_show_json_has_all_sections(run: Run) -> None:
    document = json.loads(run("etrecord", "show", RECORD, "--format", "json").text)
    assert list(document) == [
        "source", "sha256", "debug_handles", "delegates", "num_outputs", "graphs",
    ]  # fmt: skip
    assert document["debug_handles"]["forward"]["2"] == [4, 5, 6]
    assert document["delegates"]["forward"]["0"] == {"name": "XnnpackBackend", "handles": {}}
    nodes = document["graphs"][1]["nodes"]
    [sin] = [node for node in nodes if node["name"] == "aten_sin_default"]
    assert sin["target"] == "aten.sin.default"
    assert sin["debug_handles"] == [6]
    assert sin["code"].startswith("aten_sin_default: float32[")


def test_etrecord_show_has_a_row_per_node_in_csv(run: Run) -> None:
    text = run("etrecord", "show", TWINS, "--method", "beta", "--format", "csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {(row["graph"], row["method"]) for row in rows} == {(EDGE, "beta")}
    assert [row["target"] for row in rows if row["debug_handle"] == "3"] == ["aten.tanh.default"]


def test_only_the_chosen_method_is_shown(run: Run) -> None:
    text = run("etrecord", "show", TWINS, "--method", "alpha").text
    assert "method alpha" in text
    assert "beta" not in text


def test_member_of_a_zip_is_shown(run: Run, tmp_path: Path) -> None:
    archive = tmp_path / "artifact.zip"
    archive.write_bytes(build_zip({"inner/r.etrecord": RECORD.read_bytes()}))
    shown = run("etrecord", "show", f"{archive}!inner/r.etrecord").text
    assert shown == run("etrecord", "show", RECORD).text


def test_unknown_names_suggest_near_ones(run: Run) -> None:
    outcome = run("etrecord", "show", TWINS, "--method", "alpah")
    assert (outcome.code, outcome.out) == (1, b"")
    assert outcome.error == "error: no method 'alpah' in the ETRecord; did you mean alpha?"
    outcome = run("etrecord", "show", RECORD, "--graph", "exported")
    assert outcome.error.startswith("error: no graph 'exported' in the ETRecord; did you mean")


def test_bad_file_is_one_line(run: Run, tmp_path: Path) -> None:
    dump = CORPUS / "real" / "load_only.etdp"
    outcome = run("etrecord", "show", dump)
    assert (outcome.code, outcome.out) == (1, b"")
    assert outcome.error == f"error: {dump}: not an ETRecord (a zip), but an ETDump"
    assert "does not exist" in run("etrecord", "show", tmp_path / "gone").error


def test_names_cannot_steer_the_terminal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.etrecord"
    program = build_program(node("a\x1b[2Jb\n", debug_handle="1"))
    path.write_bytes(build_etrecord(**{EDGE: program}))
    assert r"a\x1b[2Jb\n = torch.ops" in run("etrecord", "show", path).text


def test_diff_prints_a_row_per_difference(run: Run) -> None:
    programs = CORPUS.parent / "programs"
    pair = programs / "portable.pte", programs / "portable_wider.pte"
    lines = run("etrecord", "diff", *pair, "--format", "csv").text.splitlines()
    assert lines[0] == "method,part,name,unit,base,head"
    assert "forward,memory,planned buffer 1,bytes,608,896" in lines


def test_diff_of_equal_programs_says_so(run: Run) -> None:
    program = CORPUS.parent / "programs" / "xnnpack.pte"
    text = run("etrecord", "diff", program, program).text
    assert text.startswith("The programs have the same operators")
