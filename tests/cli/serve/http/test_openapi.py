from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from starlette.routing import Route

from tests.support.service import serving
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token
from tracehouse.cli.serve.app import list_routes
from tracehouse.cli.serve.http.openapi import QUERY_PATH, openapi_document
from tracehouse.warehouse.catalogue.queries import list_headers


def operations() -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method, path): operation
        for path, methods in openapi_document(list_routes())["paths"].items()
        for method, operation in methods.items()
    }


def test_the_document_is_answered_to_readers(tmp_path: Path) -> None:
    secret = create_token(tmp_path, "me", scopes=[Scope.READ])
    with serving(tmp_path) as client:
        assert client.get("/v1/openapi.json").status_code == 401
        answer = client.get("/v1/openapi.json", headers={"Authorization": f"Bearer {secret}"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == json.loads(json.dumps(openapi_document(list_routes())))


def test_every_route_is_in_the_document_and_every_operation_has_a_route() -> None:
    routes = {
        (method.lower(), route.path)
        for route in list_routes()
        if isinstance(route, Route) and route.include_in_schema
        for method in (route.methods or set()) - {"HEAD"}
    }
    start = QUERY_PATH.partition("{")[0]
    documented = {
        (method, QUERY_PATH if path.startswith(start) else path) for method, path in operations()
    }
    assert documented == routes


def test_a_query_has_the_parameters_and_columns_of_its_file() -> None:
    found = operations()
    for header in list_headers():
        operation = found["get", f"/v1/queries/{header.name}"]
        assert operation["summary"] == header.purpose
        given = {one["name"]: one for one in operation["parameters"]}
        wanted = [parameter.name for parameter in header.params]
        assert list(given) == [*wanted, "format", "limit", "offset"]
        for parameter in header.params:
            assert given[parameter.name]["required"] == parameter.is_required
            assert given[parameter.name]["description"] == parameter.doc
        content = operation["responses"]["200"]["content"]
        row = content["application/json"]["schema"]["items"]
        assert list(row["properties"]) == [column.name for column in header.columns]
        assert len(content) == 5


def test_limits_of_a_parameter_are_its_schema() -> None:
    given = {
        one["name"]: one["schema"]
        for one in operations()["get", "/v1/queries/regression_deltas"]["parameters"]
    }
    assert given["device"] == {"type": "array", "items": {"type": "string"}}
    assert given["min_change"]["type"] == "number"
    limits = {"minimum": 0, "maximum": 1, "exclusiveMaximum": 1}
    assert given["q"] == {"type": "number", "description": "or a text such as 5%", **limits}


def test_operations_have_names_of_their_own_and_say_what_they_need() -> None:
    found = operations().values()
    assert len({operation["operationId"] for operation in found}) == len(found)
    for operation in found:
        is_open = operation["security"] == []
        assert is_open != ("401" in operation["responses"])
        assert is_open != ("Needs a token with the scope" in operation.get("description", ""))
