from __future__ import annotations

from dataclasses import replace

from tests.support.etrecord_builder import MODELS
from tracehouse.ingest.etrecord.maps import DelegateMap
from tracehouse.ingest.etrecord.record import EtRecord, read_etrecord
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.etrecord import delegate_table, handle_table


def make_record(**changes: object) -> EtRecord:
    record = read_etrecord(Source(str(MODELS / "mixed_xnnpack.etrecord")))
    nothing: dict[str, object] = {"debug_handles": {}, "delegates": {}, "num_outputs": {}}
    return replace(record, **(nothing | changes))  # type: ignore[arg-type]


def test_each_instruction_has_its_handles_and_outputs() -> None:
    record = make_record(
        debug_handles={"forward": {0: [1, 2], 3: 7}}, num_outputs={"forward": {3: 2}}
    )
    assert handle_table(record).to_pylist() == [
        {"method": "forward", "instruction_id": 0, "debug_handles": "1, 2", "output_count": None},
        {"method": "forward", "instruction_id": 3, "debug_handles": "7", "output_count": 2},
    ]


def test_each_id_of_a_delegate_has_a_row_and_a_delegate_without_ids_one() -> None:
    known = DelegateMap("Xnn", {"a": 4, "b": [5, 6]})
    record = make_record(delegates={"forward": {1: known, 2: DelegateMap(None, {})}})
    columns = ("instruction_id", "backend", "delegate_id", "debug_handles")
    assert [tuple(row[c] for c in columns) for row in delegate_table(record).to_pylist()] == [
        (1, "Xnn", "a", "4"),
        (1, "Xnn", "b", "5, 6"),
        (2, None, None, ""),
    ]


def test_columns_have_their_types_without_rows() -> None:
    record = make_record()
    for table in (handle_table(record), delegate_table(record)):
        assert table.num_rows == 0
        assert str(table.schema.field("instruction_id").type) == "int64"
        assert str(table.schema.field("debug_handles").type) == "string"
