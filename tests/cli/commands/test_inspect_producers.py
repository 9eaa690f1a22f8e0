"""Rules of a user's in tracehouse.toml."""

from __future__ import annotations

import json

import pytest

from tests.support.producer_dumps import producer_dump
from tracehouse import Warehouse
from tracehouse.ingest.producers import use_user_rules

FACTS = [f"--{name}=x" for name in ("device", "build", "model")]
OWN = """
[[producers]]
producer = "Our NPU"
source = "npu/trace.cpp"
delegate_id = "RPC .*"
kind = "delegate_counter"
unit = "mJ"
"""


@pytest.fixture
def user_rules(tmp_path, monkeypatch):
    """A working directory with a rule of its own, and a dump of QNN."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tracehouse.toml").write_text(OWN)
    (tmp_path / "qnn.etdp").write_bytes(producer_dump("QNN", 2))
    yield tmp_path
    use_user_rules(tuple)


def test_json_tells_which_rule_made_an_event_what_it_is(run, user_rules):
    blocks = json.loads(run("inspect", "qnn.etdp", "--format", "json").out)["event_blocks"]
    events = {event["name"]: event for event in blocks[1]["events"]}
    told = {name: (event["kind"], event["unit"], event["rule"]) for name, event in events.items()}
    assert told["RPC (execute) time (us)"] == (
        "delegate_counter",
        "mJ",
        {"producer": "Our NPU", "delegate_id": "RPC .*", "source": "npu/trace.cpp"},
    )
    kind, unit, rule = told["Number of HVX threads used (count)"]
    assert (kind, unit, rule["producer"]) == ("delegate_counter", "count", "QNN")
    assert rule["source"].endswith("QnnProfile::ProfileData")
    assert told["native_call_add.out"][2]["event_name"] == "native_call_.*"


def test_an_ingest_follows_the_rules_of_the_working_directory(run, user_rules):
    run("ingest", "qnn.etdp", *FACTS, "--store", "store", "--quiet")
    with Warehouse.open(user_rules / "store", read_only=True) as store:
        rows = store.sql("SELECT DISTINCT name, value FROM counters WHERE unit = 'mJ'").to_pylist()
    assert {(row["name"], row["value"]) for row in rows} == {
        ("RPC (execute) time (us)", 29_409),
        ("RPC (execute) retries", 7),
    }


def test_inspect_reports_an_invalid_rule(run, user_rules):
    (user_rules / "tracehouse.toml").write_text(OWN.replace("RPC", "RPC("))
    outcome = run("inspect", "qnn.etdp")
    assert outcome.code == 1
    assert outcome.error.startswith(
        "error: tracehouse.toml: [[producers]] number 1: delegate_id: not a"
    )


def test_an_invalid_rule_stops_only_commands_that_need_rules(run, user_rules):
    (user_rules / "tracehouse.toml").write_text("[[producers]]\nproducer = 3\n")
    lines = (
        ["ingest", "qnn.etdp", *FACTS, "--store", "store"],
        ["inspect", "qnn.etdp"],
        ["query", "dumps", "--store", "other"],
        ["completion", "bash"],
    )
    stopped = ["[[producers]]" in run(*args).err for args in lines]
    assert stopped == [True, True, False, False]
    assert not (user_rules / "store").exists()


def test_an_invalid_rule_stops_no_command_that_only_opens_a_store(run, user_rules):
    ingest = ["ingest", "qnn.etdp", *FACTS]
    run(*ingest, "--store", "store", "--quiet")
    (user_rules / "tracehouse.toml").write_text("[[producers]]\nproducer = 3\n")
    lines = (["store", "snapshot"], ["store", "drain"], ["store", "compact"], ingest)
    stopped = ["error: " in run(*args, "--store", "store").err for args in lines]
    assert stopped == [False, False, False, True]
