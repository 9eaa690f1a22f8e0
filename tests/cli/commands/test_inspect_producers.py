"""Rules of a user's in tracehouse.toml."""

from __future__ import annotations

import contextlib
import json

import pytest

from cli.main import main
from ingest.producers import use_user_rules
from tests.support.producer_dumps import producer_dump
from warehouse import Warehouse


@pytest.fixture
def inspect(capsysbinary):
    """Runs `tracehouse inspect`: its exit status, standard output and standard error."""

    def call(*args):
        status = None
        with contextlib.suppress(SystemExit):
            status = main(["inspect", *args])
        captured = capsysbinary.readouterr()
        return status, captured.out, captured.err.decode()

    return call


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


def test_json_tells_which_rule_made_an_event_what_it_is(inspect, user_rules):
    _, out, _ = inspect("qnn.etdp", "--format", "json")
    blocks = json.loads(out)["event_blocks"]
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


def test_what_is_ingested_follows_the_rules_of_the_working_directory(user_rules, capsysbinary):
    facts = [f"--{name}=x" for name in ("device", "build", "model")]
    with contextlib.suppress(SystemExit):
        main(["ingest", "qnn.etdp", *facts, "--store", "store", "--quiet"])
    with Warehouse.open(user_rules / "store", read_only=True) as store:
        rows = store.sql("SELECT DISTINCT name, value FROM counters WHERE unit = 'mJ'").to_pylist()
    assert {(row["name"], row["value"]) for row in rows} == {
        ("RPC (execute) time (us)", 29_409),
        ("RPC (execute) retries", 7),
    }


def test_a_rule_that_is_none_is_told(inspect, user_rules):
    (user_rules / "tracehouse.toml").write_text(OWN.replace("RPC", "RPC("))
    status, _, err = inspect("qnn.etdp")
    assert status == 1
    assert err.startswith("error: tracehouse.toml: [[producers]] number 1: delegate_id: not a")


def test_a_rule_that_is_none_stops_only_commands_that_need_rules(user_rules, capsysbinary):
    (user_rules / "tracehouse.toml").write_text("[[producers]]\nproducer = 3\n")
    facts = [f"--{name}=x" for name in ("device", "build", "model")]
    codes = []
    for args in (
        ["ingest", "qnn.etdp", *facts, "--store", "store"],
        ["inspect", "qnn.etdp"],
        ["inspect-prof", "qnn.etdp"],
        ["query", "dumps", "--store", "other"],
        ["completion", "bash"],
    ):
        with contextlib.suppress(SystemExit):
            main(args)
        codes.append("[[producers]]" in capsysbinary.readouterr().err.decode())
    assert codes == [True, True, False, False, False]
    assert not (user_rules / "store").exists()


def test_a_rule_that_is_none_stops_no_command_that_only_opens_a_store(user_rules, capsysbinary):
    facts = [f"--{name}=x" for name in ("device", "build", "model")]
    with contextlib.suppress(SystemExit):
        main(["ingest", "qnn.etdp", *facts, "--store", "store", "--quiet"])
    (user_rules / "tracehouse.toml").write_text("[[producers]]\nproducer = 3\n")
    are_stopped = []
    for args in (["snapshot"], ["drain"], ["compact"], ["ingest", "qnn.etdp", *facts]):
        with contextlib.suppress(SystemExit):
            main([*args, "--store", "store"])
        are_stopped.append("error: " in capsysbinary.readouterr().err.decode())
    assert are_stopped == [False, False, False, True]
