"""The service's OpenAPI document, from its endpoints and the headers of canned queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from tracehouse.cli.parameter_schemas import TYPES, parameter_schema
from tracehouse.cli.serve.http.endpoints import (
    JSON_OBJECT,
    QUERY_PATH,
    Content,
    Endpoint,
    Input,
    Operation,
    table_content,
)
from tracehouse.cli.serve.http.problems import TYPE as PROBLEM
from tracehouse.queries.printable import json_text
from tracehouse.warehouse.catalogue.header import Column, Header
from tracehouse.warehouse.catalogue.queries import list_headers

Json = dict[str, Any]

_PROBLEM: Json = {
    "type": "object",
    "required": ["status", "reason", "detail"],
    "properties": {
        "status": {"type": "integer"},
        "reason": {"type": "string", "description": "Why, for programs: a word."},
        "detail": {"type": "string", "description": "Why, and what to do: a sentence."},
    },
}
_PROBLEM_CONTENT: Content = {PROBLEM: {"$ref": "#/components/schemas/Problem"}}
_SUMMARY = "Takes dumps of ExecuTorch programs, and answers what got slower and where time goes."


def openapi_document(routes: Sequence[BaseRoute]) -> Json:
    """The document, of version 3.1, of those routes that are endpoints."""
    from importlib.metadata import version

    paths: dict[str, Json] = {}
    for operation in _list_operations(routes):
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tracehouse",
            "version": version("tracehouse"),
            "description": _SUMMARY,
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _list_operations(routes: Sequence[BaseRoute]) -> Iterator[Operation]:
    """The operations of endpoints; canned queries have one each."""
    for route in routes:
        if isinstance(route, Endpoint) and route.path == QUERY_PATH:
            yield from (_query_operation(route.operation, header) for header in list_headers())
        elif isinstance(route, Endpoint):
            yield route.operation


def _query_operation(operation: Operation, header: Header) -> Operation:
    """The operation of one query, from the operation of all queries."""
    own = [
        Input(one.name, "query", parameter_schema(one), one.doc, one.is_required)
        for one in header.params
    ]
    rows = {"type": "array", "items": _row(header.columns)}
    return replace(
        operation,
        path=QUERY_PATH.format(name=header.name),
        summary=header.purpose,
        answers={**operation.answers, 200: table_content(rows)},
        inputs=(*own, *operation.inputs),
    )


def _row(columns: Sequence[Column]) -> Json:
    """A row as JSON; every value may be null."""
    properties = {
        column.name: {
            **TYPES[column.type],
            "type": [TYPES[column.type]["type"], "null"],
            "description": column.doc,
        }
        for column in columns
    }
    return {"type": "object", "required": list(properties), "properties": properties}


def _operation(operation: Operation) -> Json:
    scopes = " or ".join(operation.scopes)
    problems = [*operation.problems, *((401, 403) if scopes else ())]
    answers = {**operation.answers, **dict.fromkeys(sorted(problems), _PROBLEM_CONTENT)}
    found: Json = {
        "summary": operation.summary,
        "operationId": _identifier(operation),
        "parameters": [_input(one) for one in operation.inputs],
        "responses": {
            str(status): {"description": HTTPStatus(status).phrase, "content": _content(content)}
            for status, content in answers.items()
        },
        "security": [{"token": []}] if scopes else [],
    }
    if scopes:
        found["description"] = f"Needs a token with the scope {scopes}, if there are any."
    if operation.body is not None:
        found["requestBody"] = {"required": True, "content": _content(operation.body)}
    return found


def _identifier(operation: Operation) -> str:
    words = operation.path.removeprefix("/v1/").replace("{", "").replace("}", "")
    return "_".join([operation.method, *words.replace(".", "/").strip("/").split("/")])


def _input(one: Input) -> Json:
    return {
        "name": one.name,
        "in": one.place,
        "required": one.is_required,
        "description": one.doc,
        "schema": one.schema,
    }


def _content(content: Content) -> Json:
    return {media_type: {"schema": schema} for media_type, schema in content.items()}


@Operation("/v1/openapi.json", "This document.", {200: JSON_OBJECT})
async def document(request: Request) -> Response:
    """The document as JSON, which is made once."""
    app = request.app
    if not hasattr(app.state, "openapi"):
        app.state.openapi = await run_in_threadpool(lambda: json_text(openapi_document(app.routes)))
    return Response(app.state.openapi, media_type="application/json")
