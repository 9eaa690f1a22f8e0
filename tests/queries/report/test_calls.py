"""A change that a delegate's call shows, and no operator in it, in all that tells of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import run_process
from tests.support.hidden_change import BASE, HEAD, LATER, OPERATOR, OTHERS_NS, write_hidden_change
from tests.support.reports import group, member
from tracehouse import Warehouse
from tracehouse.queries.report.alerts import name_hidden_operators

REPORTS = {
    "two builds": ("--base", BASE, "--head", HEAD),
    "first night": ("--head", HEAD),
    "second night": ("--head", LATER),
}
STATES = {"two builds": "confirmed", "first night": "new", "second night": "confirmed"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hidden")
    write_hidden_change(folder / "farm")
    with Warehouse.open(folder / "store", create=True) as store:
        store.ingest([folder / "farm"])
    return folder / "store"


def _names_all(may_be: str) -> bool:
    return set(may_be.split(", ")) == {OPERATOR, *OTHERS_NS}


@pytest.mark.system
@pytest.mark.parametrize("asked", REPORTS)
def test_a_call_is_an_alert_of_its_own_and_names_the_operators_it_may_be(
    store: Path, tmp_path: Path, asked: str
) -> None:
    texts = {}
    for form in ("json", "md", "html", "xml"):
        path = tmp_path / f"report.{form}"
        assert run_process("report", *REPORTS[asked], "--store", store, "--output", path).code == 0
        texts[form] = path.read_text()
    groups = {each["members"][0]["model"]: each for each in json.loads(texts["json"])["groups"]}
    assert groups.keys() == {"hidden", "shown"}
    (call,) = groups["hidden"]["members"]
    assert (call["kind"], groups["hidden"]["state"]) == ("delegate_call", STATES[asked])
    assert _names_all(call["may_be"])
    first, *others = groups["shown"]["members"] + groups["shown"]["explains"]
    assert first["event_name"] == OPERATOR
    assert [each["may_be"] for each in others] == [None]
    for text in (texts["md"].replace("<code>#</code>", "#"), texts["html"], texts["xml"]):
        assert text.count("May be") == 1
        assert call["may_be"] in text


@pytest.mark.system
def test_compare_counts_calls_that_changed_alone_and_names_the_operators(store: Path) -> None:
    first, *lines = run_process("compare", BASE, HEAD, "--store", store).text.splitlines()
    assert first.startswith("1 operator is slower (")
    assert "13 operators: 1 slower, 8 unchanged, 1 cannot tell, 3 too few dumps" in lines
    (guess,) = [line.strip() for line in lines if line.strip().startswith("may be ")]
    assert _names_all(guess.removeprefix("may be "))


@pytest.mark.parametrize(
    ("direction", "other", "is_named"),
    [
        ("regression", [], True),
        ("improvement", [], False),
        ("regression", ["delegate_op"], False),
        ("regression", ["kernel"], True),
    ],
)
def test_a_call_is_guessed_at_unless_an_operator_of_its_delegates_changed(
    store: Path, direction: str, other: list[str], is_named: bool
) -> None:
    place = {"device": "sim-phone-01", "model": "hidden", "backend": "xnnpack", "run": "Execute"}
    call = member(**place, event_name="DELEGATE_CALL", kind="delegate_call", ordinal=1)
    operators = [member(**place, kind=kind) for kind in other]
    alert = group(
        *operators or [call],
        explains=[call] if other else [],
        direction=direction,
        first_bad=HEAD,
        last_good=BASE,
    )
    with Warehouse.open(store, read_only=True) as warehouse:
        named = name_hidden_operators(warehouse, alert, 0.03)
    (found,) = [each for each in (*named.members, *named.explains) if each.kind == call.kind]
    assert (found.may_be is not None) is is_named
