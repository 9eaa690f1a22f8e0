"""The drop-in, used as scripts use the Inspector."""

from __future__ import annotations

import copy
import csv
import errno
import gzip
import importlib.util
import io
import sys
from html import escape

import numpy as np
import pytest

from tests.support.corpus import CORPUS, read_golden
from tests.support.etrecord_builder import MODELS
from tracehouse import Inspector, MSEComparator, TimeScale, compare_results
from tracehouse.ingest.errors import DumpError, EtRecordError, SourceError
from tracehouse.queries.errors import WrongTypeError
from tracehouse.warehouse.errors import QueryError

PRINTED = sorted((CORPUS.parent / "printed").iterdir())
MIXED = CORPUS / "real" / "mixed_xnnpack_n20.etdp"
DUMP = CORPUS / "real" / "traced_int_n1_debug.etdp"
RECORD = MODELS / "mixed_xnnpack.etrecord"
STATISTICS = ("p10", "p50", "p90", "avg", "min", "max")


@pytest.fixture(scope="module")
def inspector():
    return Inspector(
        etdump_path=str(CORPUS / "real" / "mixed_xnnpack_n20.etdp"),
        etrecord=str(RECORD),
        target_time_scale=TimeScale.US,
    )


def test_events_have_the_attributes_of_the_inspectors(inspector):
    load, execute = inspector.event_blocks
    assert (load.name, execute.name, execute.bundled_input_index) == ("Default", "Execute", -1)
    event = next(event for event in execute.events if event.name == "DELEGATE_CALL")
    golden = next(
        event
        for event in read_golden("real/mixed_xnnpack_n20")["variants"]["plain"]["event_blocks"][1][
            "events"
        ]
        if event["name"] == "DELEGATE_CALL"
    )
    assert event.perf_data.avg == pytest.approx(golden["avg"] * 1000)
    assert event.perf_data.raw == pytest.approx([1000 * value for value in golden["raw"]])
    assert event.start_time == golden["start_time"]
    assert event.op_types == ["aten.convolution.default", "aten.relu.default"]
    assert event.debug_handles == [1, 2]
    assert event.delegate_backend_name == "XnnpackBackend"
    assert not event.is_delegated_op
    assert event.num_outputs == 1
    assert [*event.stack_traces] == ["aten_convolution_default_", "aten_relu_default_"]


def test_logged_tensors_are_arrays_and_none_without_the_buffer():
    path = str(DUMP)
    values = [
        Inspector(etdump_path=path, debug_buffer_path=buffer).event_blocks[1].run_output
        for buffer in (path.replace(".etdp", ".debug.bin"), None)
    ]
    assert isinstance(values[0][0], np.ndarray)
    assert values[1] == [None]


def test_an_inspector_is_shown_in_a_line_and_as_a_table(inspector):
    assert repr(inspector).startswith("<Inspector: EventBlock(")
    assert len(repr(inspector)) < 250
    names = {event.name for block in inspector.event_blocks for event in block.events}
    shown = inspector._repr_html_()
    assert all(escape(name) in shown for name in names - {"OPERATOR_CALL"})


def test_a_dump_can_be_given_as_bytes_and_exactly_one_must_be():
    data = DUMP.read_bytes()
    assert len(Inspector(etdump_data=data).event_blocks) == 2
    with pytest.raises(QueryError, match="exactly one of etdump_path and etdump_data"):
        Inspector()
    with pytest.raises(QueryError, match="exactly one of etdump_path and etdump_data"):
        Inspector(etdump_path=str(DUMP), etdump_data=data)
    with pytest.raises(DumpError, match="etdump_data: offset 0"):
        Inspector(etdump_data=data[:100])


@pytest.mark.parametrize(
    ("arguments", "kind", "ours", "problem"),
    [
        ({"etdump_path": "gone.etdp"}, FileNotFoundError, SourceError, "gone.etdp: does not exist"),
        ({"etdump_path": str(CORPUS)}, OSError, SourceError, "corpus: is a folder"),
        ({"debug_buffer_path": "gone.bin"}, FileNotFoundError, SourceError, "gone.bin: does not"),
        ({"etrecord": "gone.etrecord"}, FileNotFoundError, SourceError, "gone.etrecord: does not"),
        ({"etrecord": str(DUMP)}, RuntimeError, EtRecordError, "n1_debug.etdp: "),
        ({"etrecord": 5}, TypeError, QueryError, "etrecord: wanted a path or .* not a int"),
        (
            {"etrecord": str(RECORD), "reference_graph_name": "nope"},
            KeyError, QueryError, "has no graph 'nope'",
        ),
        ({"target_time_scale": TimeScale.CYCLES}, RuntimeError, QueryError, "cannot convert ns"),
        ({"etdump_data": b""}, ValueError, QueryError, "exactly one of"),
        ({"tensors": "jax"}, ValueError, QueryError, "wanted 'numpy' or 'torch'"),
        ({"target_time_scale": None}, ValueError, QueryError, "None: wanted one of ns, us, ms"),
        ({"etdump_path": 5}, TypeError, QueryError, "etdump_path: wanted a path, not 5"),
        ({"etdump_path": None, "etdump_data": "x"}, TypeError, QueryError, "wanted bytes, not 'x'"),
        ({"debug_buffer_path": 5}, TypeError, QueryError, "debug_buffer_path: wanted a path"),
    ],
)  # fmt: skip
def test_errors_are_of_the_inspectors_classes_and_of_ours(arguments, kind, ours, problem):
    with pytest.raises(kind, match=problem) as raised:
        Inspector(**{"etdump_path": str(MIXED), **arguments})
    assert isinstance(raised.value, ours)


def test_a_missing_file_is_named_as_the_system_names_it(tmp_path):
    record = tmp_path / "model.etrecord"
    record.write_bytes(RECORD.read_bytes())
    inspector = Inspector(etdump_path=str(MIXED), etrecord=record)
    record.unlink()
    with pytest.raises(FileNotFoundError) as raised:
        inspector.get_exported_program()
    assert (raised.value.filename, raised.value.errno) == (str(record), errno.ENOENT)


def test_a_copy_in_depth_is_an_inspector_of_its_own(inspector):
    twin = copy.deepcopy(inspector)
    assert twin.find_total_for_module("c1") == inspector.find_total_for_module("c1") > 0
    twin.event_blocks[1].events.clear()
    assert inspector.event_blocks[1].events


def test_printing_without_standard_output_does_nothing(inspector, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    inspector.print_data_tabular()
    file = io.StringIO()
    inspector.print_data_tabular(file)
    assert file.getvalue()


def test_a_debug_buffer_of_another_dump_is_warned_of_with_the_reason(tmp_path):
    buffer = tmp_path / "short.bin"
    buffer.write_bytes(bytes(3))
    message = r"short.bin: \d+ logged tensors are outside the debug buffer \(3 bytes\); is it this"
    with pytest.warns(UserWarning, match=message):
        found = Inspector(etdump_path=str(DUMP), debug_buffer_path=buffer)
    assert found.event_blocks[1].run_output == [None]


def test_an_etrecord_object_is_read_through_its_save_method():
    class Record:
        edge_dialect_program = "the program"

        def save(self, path):
            with open(path, "wb") as file:
                file.write(RECORD.read_bytes())

    dump = str(CORPUS / "real" / "mixed_xnnpack_n20.etdp")
    inspector = Inspector(etdump_path=dump, etrecord=Record())
    assert inspector.event_blocks[1].events[3].debug_handles == [1, 2]
    assert inspector.get_exported_program() == "the program"


def test_metadata_and_clock_of_delegates_go_through_the_users_functions():
    inspector = Inspector(
        etdump_path=str(DUMP),
        delegate_metadata_parser=lambda raw: {"count": len(raw)},
        delegate_time_scale_converter=lambda _, value: value / 1000,
    )
    golden = read_golden("real/traced_int_n1_debug")["variants"]["plain"]["event_blocks"][1]
    for event, told in zip(inspector.event_blocks[1].events, golden["events"], strict=True):
        factor = 1000 if event.is_delegated_op else 1
        assert event.perf_data.raw == pytest.approx([factor * value for value in told["raw"]])
        if event.is_delegated_op:
            count = len(told["raw_delegate_debug_metadatas"])
            assert event.delegate_debug_metadatas == {"count": count}
        else:
            assert event.delegate_debug_metadatas == []


def test_the_tsv_spells_values_as_pandas_does():
    name = "real/cnn_portable_n20"
    file = io.StringIO()
    Inspector(etdump_path=str(CORPUS / f"{name}.etdp")).save_data_to_tsv(file)
    text = file.getvalue()
    golden = read_golden(name)["variants"]["plain"]["event_blocks"]
    rows = list(csv.reader(io.StringIO(text), delimiter="\t"))
    shown = [e for b in golden for e in b["events"] if e["name"] != "OPERATOR_CALL"]
    assert [row[0] for row in rows] == ["", *map(str, range(len(shown)))]
    for row, event in zip(rows[1:], shown, strict=True):
        assert row[2:9] == [event["name"], *(repr(event[name]) for name in STATISTICS)]
        assert row[9:] == ["[]", "False", "", str(event["start_time"])]


def test_the_tsv_can_go_to_a_path_without_units_and_with_metadata(tmp_path, inspector):
    path = tmp_path / "out.tsv"
    inspector.save_data_to_tsv(path, include_units=False)
    assert path.read_text().splitlines()[0].split("\t")[:4] == [
        "", "event_block_name", "event_name", "p10",
    ]  # fmt: skip
    counting = Inspector(
        etdump_path=str(DUMP), delegate_metadata_parser=lambda raw: {"count": len(raw)}
    )
    file = io.StringIO()
    counting.save_data_to_tsv(file, include_delegate_debug_data=True)
    header, *rows = csv.reader(io.StringIO(file.getvalue()), delimiter="\t")
    assert header[-1] == "count"
    assert {row[-1] for row in rows if row[10] == "True"} <= {"0.0", "1.0"}
    assert {row[-1] for row in rows if row[10] == "False"} == {""}


def test_the_table_is_printed_in_a_frame_without_operator_calls(inspector, capsys):
    inspector.print_data_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0][0] == "╒"
    assert lines[-1][-1] == "╛"
    assert "avg (us)" in lines[1]
    assert len({len(line) for line in lines}) == 1
    assert not any("OPERATOR_CALL" in line for line in lines)


@pytest.mark.parametrize("path", PRINTED, ids=lambda path: path.stem)
def test_the_table_is_byte_for_byte_what_the_inspector_prints(path):
    name, variant = path.stem.split(".")
    args = read_golden(f"real/{name}")["variants"][variant].get("args", {})
    inspector = Inspector(
        str(CORPUS / "real" / f"{name}.etdp"),
        etrecord=CORPUS / args["etrecord"] if "etrecord" in args else None,
    )
    file = io.StringIO()
    inspector.print_data_tabular(file, include_delegate_debug_data=True)
    assert file.getvalue() == path.read_text(encoding="utf-8")


def test_three_reference_tables_are_stored():
    assert len(PRINTED) == 3


def test_events_are_listed_by_operator(inspector):
    found = inspector.get_op_list("Execute")
    assert [*found][:2] == ["aten.convolution.default", "aten.relu.default"]
    assert {event.name for event in found["aten.relu.default"]} == {"DELEGATE_CALL"}
    assert inspector.get_op_list("Default") == {}
    assert inspector.write_tensorboard_artifact("nowhere") is None


def test_modules_are_tuples_as_in_the_inspector(inspector):
    event = next(event for event in inspector.event_blocks[1].events if event.op_types)
    assert event.module_hierarchy["aten_relu_default_"] == {"L__self__": ("", "models.Mixed")}


def test_a_time_converter_is_given_whole_ticks():
    inspector = Inspector(str(DUMP), delegate_time_scale_converter=lambda _, ticks: ticks >> 4)
    plain = Inspector(str(DUMP), target_time_scale=TimeScale.NS)
    shifted = {
        e.name: e.perf_data.raw for e in inspector.event_blocks[1].events if e.is_delegated_op
    }
    ticks = {e.name: e.perf_data.raw for e in plain.event_blocks[1].events if e.is_delegated_op}
    assert shifted == {name: [int(raw[0]) >> 4] for name, raw in ticks.items()}
    assert shifted


def test_the_reference_graph_can_be_chosen():
    def op_types(**graph):
        blocks = Inspector(MIXED, etrecord=RECORD, **graph).event_blocks
        return next(event.op_types for event in blocks[1].events if event.op_types)

    assert op_types(reference_graph_name="edge_dialect_graph_module") == op_types()
    with pytest.raises(QueryError, match="has no graph 'nope'"):
        op_types(reference_graph_name="nope")


def test_a_bundled_input_can_be_stated():
    dump = CORPUS / "real" / "dyn_portable_shapes_debug.etdp"
    inspector = Inspector(
        dump,
        etrecord=MODELS / "dyn_portable_bundled.etrecord",
        debug_buffer_path=str(dump).replace(".etdp", ".debug.bin"),
        bundled_input=0,
    )
    load, execute, *_ = inspector.event_blocks
    assert load.reference_output is None
    results = compare_results(execute.reference_output, execute.run_output, ["snr", "mse"])
    assert results == {"snr": [145.23], "mse": [0.0]}
    table = compare_results(inspector.event_blocks)
    assert "different" in table["verdict"].to_pylist()


def test_a_method_of_the_etrecord_can_be_stated():
    record = MODELS / "twins_portable.etrecord"
    dump = CORPUS / "real" / "twins_portable.etdp"
    methods = [
        block.method for block in Inspector(dump, etrecord=record, method="beta").event_blocks
    ]
    assert set(methods) == {"beta"}


def test_the_total_of_a_module_is_0_where_nothing_is_in_it(inspector):
    assert inspector.find_total_for_module("L__self__c1") == pytest.approx(5.1858)
    assert inspector.find_total_for_module("no_such_module") == 0.0


@pytest.mark.skipif(importlib.util.find_spec("pandas") is not None, reason="pandas is installed")
def test_a_data_frame_needs_pandas(inspector):
    with pytest.raises(QueryError, match="needs pandas"):
        inspector.to_dataframe()


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="needs pandas")
def test_the_data_frame_has_the_inspectors_columns_and_lists(inspector):
    frame = inspector.to_dataframe()
    assert frame.columns.tolist() == [
        "event_block_name", "event_name", "raw", "p10 (us)", "p50 (us)", "p90 (us)", "avg (us)",
        "min (us)", "max (us)", "op_types", "delegate_debug_identifier", "stack_traces",
        "module_hierarchy", "is_delegated_op", "delegate_backend_name", "debug_data", "start_time",
    ]  # fmt: skip
    assert isinstance(frame["raw"][0], list)
    assert frame["op_types"][5] == ["aten.convolution.default", "aten.relu.default"]
    assert len(inspector.event_blocks[1].to_dataframe()) == len(inspector.event_blocks[1].events)


@pytest.mark.skipif(
    importlib.util.find_spec("executorch") is not None, reason="executorch is installed"
)
def test_methods_that_need_executorch_say_how_to_install_it(inspector):
    with pytest.raises(QueryError, match=r"pip install '\.\[executorch\]' in a checkout"):
        inspector.get_exported_program()
    with pytest.raises(QueryError, match=r"pip install '\.\[executorch\]' in a checkout"):
        inspector.calculate_numeric_gap("MSE")


@pytest.mark.parametrize(
    ("distance", "kind", "problem"),
    [
        (None, TypeError, "None, wanted mse, l1"),
        (5, TypeError, "5, wanted mse, l1"),
        (MSEComparator, TypeError, "the class MSEComparator, wanted"),
        ("COSINE", ValueError, "'COSINE': unknown"),
    ],
)
def test_an_invalid_distance_is_refused_before_the_program_runs(inspector, distance, kind, problem):
    with pytest.raises(kind, match=problem) as raised:
        inspector.calculate_numeric_gap(distance)
    assert isinstance(raised.value, QueryError)


def test_wrong_arguments_of_methods_are_of_the_inspectors_classes_and_of_ours(inspector):
    with pytest.raises(WrongTypeError, match="module_name: wanted a text, not None"):
        inspector.find_total_for_module(None)
    with pytest.raises(WrongTypeError, match="wanted outputs or event blocks"):
        compare_results(None)


def test_an_inspector_without_an_etrecord_has_no_program():
    inspector = Inspector(etdump_path=str(DUMP))
    assert inspector.get_exported_program() is None
    with pytest.raises(QueryError, match="needs an ETRecord"):
        inspector.calculate_numeric_gap("MSE")


def test_a_packed_dump_is_the_dump_in_it(tmp_path):
    path = tmp_path / "run.etdp.gz"
    path.write_bytes(gzip.compress(MIXED.read_bytes()))
    packed, plain = (Inspector(etdump_path=str(one)) for one in (path, MIXED))
    assert [len(block.events) for block in packed.event_blocks] == [
        len(block.events) for block in plain.event_blocks
    ]
