from functools import partial

import pytest

from tests.support.producer_dumps import producer_dump
from tests.support.traced_farm import Step, traced_dump
from tracehouse import decode_dumps
from tracehouse.ingest.producers import parse_rule, read_user_rules, use_user_rules
from tracehouse.ingest.settings_file import FILE_NAME
from tracehouse.ingest.signatures import rule_of_row, with_user_kinds

MINE = """
[serve]
port = 3

[[producers]]
producer = "Mine"
delegate_id = "aten_.*"
kind = "delegate_counter"
unit = "mJ"

[[producers]]
producer = "Mine"
event_name = "Method::execute"
kind = "other"
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / FILE_NAME).write_text(MINE)
    use_user_rules(partial(read_user_rules, tmp_path / FILE_NAME))
    yield
    use_user_rules(tuple)


@pytest.fixture
def signatures():
    return decode_dumps([producer_dump("Core ML", 1)]).tables["event_signatures"]


def test_no_user_rules_leave_the_signatures_unchanged(signatures):
    assert with_user_kinds(signatures) is signatures


@pytest.mark.usefixtures("own")
def test_a_user_rule_classifies_events_that_shipped_rules_do_not(signatures):
    before = {row["event_signature_id"]: row for row in signatures.to_pylist()}
    after = with_user_kinds(signatures)
    assert after.schema == signatures.schema
    changed = [row for row in after.to_pylist() if row != before[row["event_signature_id"]]]
    (row,) = changed
    assert (row["delegate_id_str"], row["kind"], row["unit"]) == (
        "aten_relu_default", "delegate_counter", "mJ",
    )  # fmt: skip
    assert rule_of_row(row).producer == "Mine"
    assert rule_of_row(row | {"delegate_id_int": 3}) is None


@pytest.mark.usefixtures("own")
def test_a_kernel_recognised_by_position_stays_one_unless_a_rule_names_it():
    run = Step("my kernel", 5), Step("a::b.out", 5)
    signatures = decode_dumps([traced_dump(run)]).tables["event_signatures"]
    kinds = {row["name"]: row["kind"] for row in with_user_kinds(signatures).to_pylist()}
    assert kinds["my kernel"] == kinds["a::b.out"] == "kernel"
    rule = {"producer": "Mine", "event_name": "my kernel|a::b.out", "kind": "other"}
    use_user_rules(lambda: [parse_rule(rule)])
    kinds = {row["name"]: row["kind"] for row in with_user_kinds(signatures).to_pylist()}
    assert kinds["my kernel"] == kinds["a::b.out"] == "other"
