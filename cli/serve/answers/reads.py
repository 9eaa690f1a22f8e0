"""What is read: canned queries and the report on live data, the schema, how the store is doing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from http import HTTPStatus

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response

from cli.output.status_report import status_table
from cli.serve.access.authorization import Scope
from cli.serve.access.pools import need_all_pools
from cli.serve.answers.query_request import Params, QueryRequest, find_header
from cli.serve.answers.questions import Questions
from cli.serve.answers.tables import (
    TABLE_FORMS,
    entity_tag,
    is_known,
    table_answer,
    text_answer,
    unchanged,
)
from cli.serve.http.endpoints import (
    OBJECT,
    PAGING,
    QUERY_PATH,
    READ_PROBLEMS,
    ROWS,
    TABLE_FORMAT,
    TEXT,
    Content,
    Endpoint,
    Input,
    Operation,
    content_of,
    format_input,
    table_content,
)
from cli.serve.http.negotiation import RESERVED, choose_form, read_page
from cli.serve.http.problems import Problem
from cli.serve.service import Service
from queries.computed import COMPUTED
from queries.printable import json_text
from queries.report import forms
from queries.report.content import Report
from queries.report.nightly import nightly_report
from queries.report.pairwise import compare_report
from queries.report.settings import Settings, read_settings
from warehouse.catalogue.header import Header
from warehouse.catalogue.queries import load_catalogue
from warehouse.catalogue.sql_files import read_statement
from warehouse.opening.status import read_status
from warehouse.store import Warehouse

REPORT_FORMS = forms.MEDIA_TYPES
_OF_REPORTS = ("head", "base", "format")


class Reads:
    """Answers what is read."""

    def __init__(self) -> None:
        """The service starts now."""
        self._started = time.monotonic()

    async def list_queries(self, request: Request) -> Response:
        """The catalogue: every canned query with its parameters and columns."""
        text = json_text([_described(header) for header in _headers()]) + "\n"
        tag = entity_tag(text)
        return (
            unchanged(tag) if is_known(request, tag) else text_answer(text, "application/json", tag)
        )

    async def query(self, request: Request) -> Response:
        """Rows of a canned query."""
        service = _service(request)
        header = find_header(request.path_params["name"])
        asked = QueryRequest(header, _read_params(request), request.state.bearer.pools)
        asked.check_pools()
        form, page = choose_form(request, TABLE_FORMS), read_page(request)

        def answer(reader: Warehouse) -> Response:
            settings = read_settings(service.config)
            facts = (sorted(request.query_params.multi_items()), form, asked.pools, settings)
            tag = entity_tag(_version(reader), request.url.path, *facts)
            if is_known(request, tag):
                return unchanged(tag)
            return table_answer(request, asked.answer(reader, settings), form, page=page, tag=tag)

        return await _questions(request).ask(answer)

    async def schema(self, request: Request) -> Response:
        """Tables, views and columns that ad-hoc SQL can ask for."""
        form, page = choose_form(request, TABLE_FORMS), read_page(request)
        return await _questions(request).ask(
            lambda reader: table_answer(request, reader.schema(), form, page=page)
        )

    async def report(self, request: Request) -> Response:
        """The report of a build up to its night, or of two builds.

        Raises:
            Problem: 400; what is asked for is unclear.
        """
        service = _service(request)
        need_all_pools(request.state.bearer, "the report")
        form = choose_form(request, REPORT_FORMS)
        head, base = (request.query_params.get(name) or None for name in ("head", "base"))
        for name in request.query_params:
            if name not in _OF_REPORTS:
                detail = f"no such parameter '{name}'; there are {', '.join(_OF_REPORTS)}"
                raise Problem(HTTPStatus.BAD_REQUEST, "parameter", detail)
        if base is not None and head is None:
            detail = "say which build to compare, too: head=BUILD"
            raise Problem(HTTPStatus.BAD_REQUEST, "head", detail)

        def answer(reader: Warehouse) -> Response:
            settings = read_settings(service.config)
            tag = entity_tag(_version(reader), request.url.path, head, base, form, settings)
            if is_known(request, tag):
                return unchanged(tag)
            return _report_answer(_make_report(reader, settings, head, base), form, tag)

        return await _questions(request).ask(answer)

    async def status(self, request: Request) -> Response:
        """How the store and the service are doing."""
        service = _service(request)
        need_all_pools(request.state.bearer, "the status")
        form = choose_form(request, TABLE_FORMS)

        def answer(reader: Warehouse) -> Response:
            problem = service.consumer.problem
            own = {
                "service_problem": pa.array([str(problem) if problem else ""]),
                "service_seconds": pa.array([int(time.monotonic() - self._started)]),
            }
            table = status_table(read_status(service.store, writer=reader))
            for name, column in own.items():
                table = table.append_column(name, column)
            return table_answer(request, table, form)

        return await _questions(request).ask(answer)


def _make_report(
    reader: Warehouse, settings: Settings, head: str | None, base: str | None
) -> Report:
    if base is None or head is None:
        return nightly_report(reader, settings, head=head)
    return compare_report(reader, settings, base=base, head=head)


def _report_answer(made: Report, form: forms.Form, tag: str) -> Response:
    answer = text_answer(forms.render(made, form), REPORT_FORMS[form], tag)
    answer.headers["Tracehouse-Verdict"] = made.verdict
    return answer


def _version(reader: Warehouse) -> tuple[object, ...]:
    """What tells the store's state from others; asked first, so that it is never too new."""
    (row,) = reader.sql(read_statement("store_version")).to_pylist()
    return tuple(row.values())


def _read_params(request: Request) -> Params:
    """What an address says of parameters: a text, or several; an empty one is not given."""
    params: dict[str, str | list[str]] = {}
    for name in request.query_params:
        values = [value for value in request.query_params.getlist(name) if value]
        if name not in RESERVED and values:
            params[name] = values if len(values) > 1 else values[0]
    return params


def _headers() -> list[Header]:
    headers = [query.header for query in load_catalogue().values()]
    return sorted([*headers, *COMPUTED.values()], key=lambda header: header.name)


def _described(header: Header) -> dict[str, object]:
    return {
        "name": header.name,
        "purpose": header.purpose,
        "description": header.description,
        "parameters": [
            {
                "name": parameter.name,
                "type": parameter.type,
                "is_required": parameter.is_required,
                "default": parameter.default,
                "choices": list(parameter.choices),
                "least": parameter.least,
                "most": parameter.most,
                "doc": parameter.doc,
            }
            for parameter in header.params
        ],
        "columns": [column._asdict() for column in header.columns],
    }


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _questions(request: Request) -> Questions:
    questions: Questions = request.app.state.questions
    return questions


def routes() -> list[Endpoint]:
    """Endpoints of what is read."""
    reads, table = Reads(), {200: table_content()}
    catalogue = {200: {"application/json": ROWS}, 304: {}}
    report = {200: {**content_of(REPORT_FORMS), "application/json": OBJECT}, 304: {}}
    report_inputs = (
        Input("head", "query", TEXT, "Build it is about; by default the last."),
        Input("base", "query", TEXT, "Build to compare with; by default those before it."),
        format_input(REPORT_FORMS),
    )
    paged = (TABLE_FORMAT, *PAGING)
    schema = "Tables, views and columns with their meanings."
    status = "How the store and the service are doing."

    def get(path: str, summary: str, answers: Mapping[int, Content], *inputs: Input) -> Operation:
        scopes = (Scope.READ,)
        return Operation("get", path, summary, scopes, answers, inputs, problems=READ_PROBLEMS)

    queries = get("/v1/queries", "The canned queries.", catalogue)._replace(problems=())
    query = get(QUERY_PATH, "Rows of a canned query.", {**table, 304: {}}, *paged)
    return [
        Endpoint(reads.list_queries, queries),
        Endpoint(reads.query, query),
        Endpoint(reads.schema, get("/v1/schema", schema, table, *paged)),
        Endpoint(reads.report, get("/v1/report", "The report of a build.", report, *report_inputs)),
        Endpoint(reads.status, get("/v1/status", status, table, TABLE_FORMAT)),
    ]
