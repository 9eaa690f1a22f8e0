"""A token limited to device pools gets the same answers whether other pools exist or not.

One service has dumps of two pools; in the other, the second pool recorded nothing. Whatever a token
of the first pool asks, and whatever names of the second pool it guesses, both answer the same. So
the answers hold no name, no count, no build and no other sign of the second pool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from tests.support.cross_section import cross_section
from tests.support.nightly_farm import ingest_all, record_build
from tests.support.service import service_of, serving
from tests.support.uploads import send, sha256_of
from tracehouse import Warehouse
from tracehouse.cli.agents.tools import list_tools
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token
from tracehouse.cli.serve.page.routes import VIEWS
from tracehouse.ingest.dump import Dump, Refusal
from tracehouse.queries.report.nightly import read_night
from tracehouse.queries.report.settings import Settings
from tracehouse.warehouse.catalogue.header import Parameter
from tracehouse.warehouse.catalogue.queries import list_headers
from tracehouse.warehouse.upkeep.retain import drop_old_events, find_old_events

_SECRET = "zz-secret"  # noqa: S105 - in all names of the hidden pool
_KEY = "zz_secret"  # of its tag
_SEEN = {
    "device": "mine", "pool": "lab", "model": "net", "backend": "xnnpack", "build": "b4",
    "base": "b1", "head": "b4", "event": "Method::execute", "tag": "size=1", "size_tag": "size",
    "base_backend": "xnnpack", "head_backend": "xnnpack", "dump": "1",
    "statement": "FROM builds", "name": "coverage", "group": "none",
}  # fmt: skip
_HIDDEN = {
    **{name: f"{_SECRET}-{name}" for name in ("device", "pool", "model", "backend")},
    "build": f"{_SECRET}-b2", "base": f"{_SECRET}-b2", "head": f"{_SECRET}-b3",
    "event": f"{_SECRET}-operator", "tag": f"{_KEY}=2", "size_tag": _KEY, "dump": "6",
    "base_backend": f"{_SECRET}-backend", "head_backend": f"{_SECRET}-backend", "group": _SECRET,
}  # fmt: skip
_IN_PATHS = {"note_id": "0" * 12, "sha256": "0" * 64, "number": "6", "name": "operator_hotspots"}
_CHANGING = re.compile(  # in the answers of two services that are equal
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?|\d+ (s|minutes) ago"
    r"|[0-9a-f]{8}(?=(-\d+){5})|(?<![0-9a-f])[0-9a-f]{12}(?![0-9a-f])"
)


class Answers(NamedTuple):
    """The answers of the service with the hidden pool, and of the one without it."""

    with_pool: tuple[int, str]
    without: tuple[int, str]


class Both(NamedTuple):
    """Clients of both services, each with a token that is limited to the pool that both have."""

    with_pool: TestClient
    without: TestClient

    def ask(self, method: str, path: str, **request: Any) -> Answers:
        """What both answer to a request."""
        return Answers(*(_ask(client, method, path, request) for client in self))

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Answers:
        """What both answer to an agent that calls a tool."""
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return self.ask("POST", "/mcp", json=body)


def _ask(client: TestClient, method: str, path: str, request: Any) -> tuple[int, str]:
    answer = client.request(method, path, **request, follow_redirects=False)
    return answer.status_code, _CHANGING.sub("", answer.text)


def _seen() -> Iterator[Dump]:
    names = {"pool": "lab", "model": {"name": "net", "backend": "xnnpack"}}
    for number in (1, 4):
        yield from record_build(number, device="mine", count=2, tags={"size": number}, **names)


def _hidden() -> Iterator[Dump]:
    for number in (2, 3, 5):
        device = {"name": f"{_SECRET}-device", "pool": f"{_SECRET}-pool", "os": f"{_SECRET}-os"}
        names = {
            "device": device,
            "model": {"name": f"{_SECRET}-model", "backend": f"{_SECRET}-backend"},
            "build": {"id": f"{_SECRET}-b{number}", "ordinal": number},
            "tags": {_KEY: number},
        }
        yield from record_build(number, {f"{_SECRET}-operator": 1.0}, count=2, **names)


def _make_hidden(store: Path) -> None:
    """Record what people did with the hidden dumps: a note, a retention, a refusal, a night."""
    manifest = json.dumps({"device": {"name": f"{_SECRET}-device", "pool": f"{_SECRET}-pool"}})
    refusal = Refusal(f"{_SECRET}.etdp", "0" * 64, _SECRET, 1, _SECRET, manifest=manifest)
    with Warehouse.open(store) as warehouse:
        warehouse.record_refusals([refusal])
        warehouse.write_note(_SECRET, build=f"{_SECRET}-b2", device=f"{_SECRET}-device")
        warehouse.write_note(f"{_SECRET} everywhere", build=f"{_SECRET}-b2")
        warehouse.keep_night(read_night(warehouse, Settings(), None).packed())
        old = find_old_events(warehouse.writing, days=0, kept_builds="b[14]")
        drop_old_events(warehouse.writing, store, old)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """A service with a hidden pool, and one that lacks it."""
    folder, seen = tmp_path_factory.mktemp("pools"), list(_seen())
    stores = ingest_all(folder / "with", [*seen, *_hidden()]), ingest_all(folder / "without", seen)
    _make_hidden(stores[0])
    for store in stores:
        with Warehouse.open(store) as warehouse:
            warehouse.write_note("seen", build="b4", device="mine")
    with serving(stores[0]) as with_pool, serving(stores[1]) as without:
        both = Both(with_pool, without)
        for client in both:
            scopes = [Scope.READ, Scope.INGEST]
            secret = create_token(service_of(client).store, "lab", scopes=scopes, pools=["lab"])
            client.headers["Authorization"] = f"Bearer {secret}"
            client.headers["Accept"] = "application/json, text/event-stream, */*"
        yield both


def _guesses(names: Sequence[str], needed: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Values of parameters, each with a hidden name or one that is almost a hidden name."""
    for name in names:
        for value in (_HIDDEN[name], f"{_HIDDEN[name][:-1]}?") if name in _HIDDEN else ():
            yield {**needed, name: value}


def _path(place: str, given: Mapping[str, str]) -> str:
    return f"{place}?{urlencode(given)}"


def _query_paths() -> tuple[list[str], list[str]]:
    """Addresses of all canned queries: with names that are seen, and with guesses."""
    plain, guesses = list[str](), list[str]()
    for header in list_headers():
        place, names = f"/v1/queries/{header.name}", [one.name for one in header.params]
        needed = {one.name: _SEEN[one.name] for one in header.params if one.is_required}
        plain += [_path(place, needed), _path(place, {**needed, "format": "csv"})]
        guesses += [_path(place, given) for given in _guesses(names, needed)]
    return plain, guesses


def _view_paths() -> tuple[list[str], list[str]]:
    """Addresses of all views, likewise."""
    plain, guesses = list[str](), list[str]()
    for view in VIEWS:
        place, events = view.format(**_IN_PATHS), view.startswith("/explore/build_history")
        needed = {"event": "Method::execute"} if events else {}
        needed |= {"base": "b1", "head": "b4"} if "compare" in view or "time" in view else {}
        plain += [_path(place, needed)]
        guesses += [_path(place, given) for given in _guesses(_FIELDS, needed)]
    return plain, guesses


def _tool_calls() -> tuple[list[tuple[str, dict[str, Any]]], list[tuple[str, dict[str, Any]]]]:
    """Calls of all tools of agents, likewise."""
    plain, guesses = list[tuple[str, dict[str, Any]]](), list[tuple[str, dict[str, Any]]]()
    for tool in list_tools(has_files=False).values():
        names = [name for name in tool.schema["properties"] if name in _SEEN]
        needed = {name: _SEEN[name] for name in tool.schema["required"]}
        plain.append((tool.name, needed))
        guesses += [(tool.name, given) for given in _guesses(names, needed)]
    for header in list_headers():
        needed = {one.name: _argument(one, _SEEN) for one in header.params if one.is_required}
        plain.append(("query", {"name": header.name, "params": needed}))
        for one in header.params:
            for given in _guesses([one.name], {}):
                params = {**needed, one.name: _argument(one, given)}
                guesses.append(("query", {"name": header.name, "params": params}))
    return plain, guesses


def _argument(parameter: Parameter, values: Mapping[str, str]) -> object:
    value = values[parameter.name]
    if parameter.type in ("INT", "BIGINT"):
        return int(value.rstrip("?") or 0)
    return [value] if parameter.type.endswith("[]") else value


_FIELDS = ("device", "pool", "model", "backend", "build", "base", "head", "event", "group")
_QUERIES, _QUERY_GUESSES = _query_paths()
_VIEWS, _VIEW_GUESSES = _view_paths()
_CALLS, _CALL_GUESSES = _tool_calls()
_OTHERS = [
    "/metrics", "/metrics/fleet", "/v1/status", "/v1/schema", "/v1/openapi.json", "/v1/queries",
    "/v1/report", "/v1/report?format=html", "/v1/explain?group=1", "/v1/upkeep/1", "/readyz",
    "/login", "/style.css", "/sql?sql=FROM+builds",
]  # fmt: skip


def _check(found: Answers, asked: object) -> None:
    lines = [text.splitlines() for _, text in found]
    only = [line for line in lines[0] if line not in lines[1]]
    assert (found.with_pool[0], only) == (found.without[0], []), asked
    assert found.with_pool == found.without, asked
    assert found.with_pool[0] != 500, asked


@pytest.mark.parametrize(
    "path",
    [
        *cross_section(_QUERIES, 2), *_VIEWS, *_OTHERS,
        *cross_section(_QUERY_GUESSES, 36), *cross_section(_VIEW_GUESSES, 36),
    ],
)  # fmt: skip
def test_answers_are_the_same_with_and_without_hidden_pools(both: Both, path: str) -> None:
    _check(both.ask("GET", path), path)


@pytest.mark.parametrize(
    ("tool", "arguments"), [*cross_section(_CALLS, 4), *cross_section(_CALL_GUESSES, 72)]
)
def test_agents_get_the_same_answers_with_and_without_hidden_pools(
    both: Both, tool: str, arguments: dict[str, Any]
) -> None:
    _check(both.call(tool, arguments), arguments)


def test_expected_recordings_do_not_reveal_hidden_devices(both: Both) -> None:
    path = _path("/v1/queries/coverage_gaps", {"expected": f"{_SECRET}-device / {_SECRET}-model"})
    _check(both.ask("GET", path), path)
    assert _SECRET not in both.ask("GET", path).with_pool[1]


def test_a_dump_a_note_and_a_refusal_of_the_hidden_pool_are_unknown(both: Both) -> None:
    with service_of(both.with_pool).reader() as reader:
        dumps = reader.query("dumps", build=f"{_SECRET}-*")["sha256"].to_pylist()
        notes = reader.query("notes", build=f"{_SECRET}-*")["note_id"].to_pylist()
    assert (len(dumps), len(notes)) == (6, 2)
    for path in (
        *(f"/notes/{note}" for note in notes),
        *(f"{place}/{dump}" for dump in [*dumps, "0" * 64] for place in ("/dumps", "/v1/dumps")),
        f"/dumps/{dumps[0][:12]}",
        f"/dumps/{dumps[0]}/run.svg",
    ):
        found = both.ask("GET", path)
        _check(found, path)
        assert found.with_pool[0] == 404


@pytest.mark.parametrize("path", ["/v1/upkeep/compact", "/v1/sql", "/regressions", "/notes"])
def test_forbidden_requests_are_refused_alike_with_and_without_hidden_pools(
    both: Both, path: str
) -> None:
    found = both.ask("POST", path, json={})
    _check(found, path)
    assert found.with_pool[0] == 403


def test_an_upload_of_hidden_bytes_is_refused_without_their_manifest(both: Both) -> None:
    names = {"device": {"name": "mine", "pool": "lab"}, "build": "b4", "model": "net"}
    data = bytes(next(_hidden()).read())
    answer = send(both.with_pool, data, names)
    assert answer.status_code == 409
    assert _SECRET not in answer.text
    assert both.with_pool.get(f"/v1/dumps/{sha256_of(data)}").status_code == 404
