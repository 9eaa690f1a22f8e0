"""Endpoints: routes that check a token's scope, and their entries in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.answers.tables import TABLE_FORMS

Schema = Mapping[str, Any]
Content = Mapping[str, Schema]  # by media type
Handler = Callable[[Request], Awaitable[Response]]
Guard = Callable[[Request], AbstractAsyncContextManager[None]]

TEXT: Schema = {"type": "string"}
BYTES: Schema = {"type": "string", "format": "binary"}
OBJECT: Schema = {"type": "object"}
ROWS: Schema = {"type": "array", "items": OBJECT}
JSON_OBJECT: Content = {"application/json": OBJECT}
QUERY_PATH = "/v1/queries/{name}"  # an operation of the document for each canned query
READ_PROBLEMS = (400, 404, 406, 429, 503, 504, 507)


class Input(NamedTuple):
    """A parameter of an operation: its name, where it is, its schema and its meaning."""

    name: str
    place: str
    schema: Schema
    doc: str
    is_required: bool = False


@dataclass(frozen=True)
class Operation:
    """An endpoint's route, access and description in the OpenAPI document; decorates its handler.

    Attributes:
        path: Path of the route.
        summary: What the operation does, in a sentence.
        answers: Content of the answers by status.
        inputs: Parameters.
        method: HTTP method, in lower case.
        scopes: A token needs one of them; empty if the endpoint is open.
        body: Content of the request's body; None without one.
        problems: Statuses of problems, besides those of access.
        guard: Context in which access is checked and the handler runs.
    """

    path: str
    summary: str
    answers: Mapping[int, Content]
    inputs: tuple[Input, ...] = ()
    method: str = "get"
    scopes: tuple[Scope, ...] = (Scope.READ,)
    body: Content | None = None
    problems: tuple[int, ...] = ()
    guard: Guard = lambda _: nullcontext()

    def __call__(self, handler: Handler) -> Endpoint:
        """Make a handler the endpoint of this operation."""
        return Endpoint(self, handler)


class Endpoint(Route):
    """A route whose handler runs only for requests with a token of the needed scope.

    The handler finds the client in `request.state.bearer`.
    """

    def __init__(self, operation: Operation, handler: Handler) -> None:
        """Make a route of an operation and its handler."""
        self.operation = operation

        async def answer(request: Request) -> Response:
            async with operation.guard(request):
                if operation.scopes:
                    request.app.state.service.access.need(request, *operation.scopes)
                return await handler(request)

        super().__init__(operation.path, answer, methods=[operation.method.upper()])


def table_content(rows: Schema = ROWS) -> Content:
    """The content of an answer that is a table, in each of its forms."""
    return {**content_of(TABLE_FORMS), "application/json": rows}


def content_of(media_types: Mapping[Any, str]) -> Content:
    """The content of an answer that has one of these media types."""
    types = [media_type.partition(";")[0] for media_type in media_types.values()]
    return {one: BYTES if "/vnd.apache" in one else TEXT for one in types}


def format_input(forms: Mapping[Any, str]) -> Input:
    """The parameter `format` of an endpoint that answers in several forms."""
    return Input("format", "query", {"enum": list(forms)}, "Form of the answer, whatever Accept.")


TABLE_FORMAT = format_input(TABLE_FORMS)
PAGING = (
    Input("limit", "query", {"type": "integer", "minimum": 1}, "Rows of a page."),
    Input("offset", "query", {"type": "integer", "minimum": 0}, "Rows before it."),
)
