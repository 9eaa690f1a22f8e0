"""Answers from the live store: canned queries, reports, explanations, schema and status."""

from __future__ import annotations

import time
from functools import cache

import pyarrow as pa
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tracehouse.cli.serve.access.authorization import Scope, need_all_pools
from tracehouse.cli.serve.answers.questions import (
    Params,
    QueryRequest,
    ReportRequest,
    await_indexed,
    query_night,
    query_store,
)
from tracehouse.cli.serve.http.endpoints import (
    OBJECT,
    PAGING,
    QUERY_PATH,
    READ_PROBLEMS,
    ROWS,
    TABLE_FORMAT,
    TEXT,
    Input,
    Operation,
    content_of,
    format_input,
    table_content,
)
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.responses import (
    RESERVED,
    TABLE_FORMS,
    answer_unchanged,
    check_parameters,
    choose_form,
    entity_tag,
    read_page,
    table_answer,
    text_answer,
)
from tracehouse.cli.serve.service import Service
from tracehouse.queries.explain import forms as explain_forms
from tracehouse.queries.explain.explanation import explain_group
from tracehouse.queries.printable import json_text
from tracehouse.queries.report import forms
from tracehouse.queries.report.nightly import NightKey, key_of
from tracehouse.queries.report.settings import read_settings
from tracehouse.queries.store_status import status_table
from tracehouse.warehouse.catalogue.header import Header
from tracehouse.warehouse.catalogue.queries import find_query, list_headers
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.opening.status import read_status
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.nights import JudgedNight

REPORT_FORMS = forms.MEDIA_TYPES
_REPORT_PARAMETERS = (*ReportRequest._fields, "format")
_TABLE = {200: table_content()}
WAITING_SHARE = 0.75  # so much of the time of a query may pass until a night is judged
_PAGED = (TABLE_FORMAT, *PAGING)
_PARAMETER_FIELDS = ("name", "type", "is_required", "default", "choices", "least", "most", "doc")

_EXPLAIN_FORMS = explain_forms.MEDIA_TYPES
_PARAMETERS = ("group", "head", "format")


@Operation("/v1/queries", "The canned queries.", {200: {"application/json": ROWS}, 304: {}})
async def list_queries(request: Request) -> Response:
    """The catalogue: every query with its parameters and columns."""
    text = await run_in_threadpool(_catalogue)
    tag = entity_tag("catalogue")
    return answer_unchanged(request, tag) or text_answer(text, "application/json", tag)


@Operation(
    QUERY_PATH, "Rows of a canned query.", {**_TABLE, 304: {}}, _PAGED, problems=READ_PROBLEMS
)
async def query(request: Request) -> Response:
    """The rows of a canned query."""
    service: Service = request.app.state.service
    header, pools = find_query(request.path_params["name"]).header, request.state.bearer.pools
    wanted = QueryRequest(header, _read_params(request), pools)
    wanted.check_pools()
    form, page = choose_form(request, TABLE_FORMS), read_page(request)

    def answer(reader: Store) -> Response:
        settings = read_settings(service.config)
        facts = (sorted(request.query_params.multi_items()), form, pools, settings)
        tag = entity_tag(store_version(service, reader), request.url.path, *facts)
        if known := answer_unchanged(request, tag):
            return known
        with wanted.answer(reader, settings, page) as rows:
            return table_answer(request, rows, form, page=page, tag=tag)

    return await query_store(request, answer)


@Operation(
    "/v1/schema",
    "Tables, views and columns with their meanings.",
    _TABLE,
    _PAGED,
    scopes=(Scope.READ, Scope.SQL),
    problems=READ_PROBLEMS,
)
async def schema(request: Request) -> Response:
    """Tables, views and columns for ad-hoc SQL."""
    form, page = choose_form(request, TABLE_FORMS), read_page(request)
    return await query_store(
        request, lambda reader: table_answer(request, reader.schema(), form, page=page)
    )


@Operation(
    "/v1/report",
    "The report of a build.",
    {200: {**content_of(REPORT_FORMS), "application/json": OBJECT}, 304: {}},
    (
        Input("head", "query", TEXT, "Build of the report; by default the last."),
        Input("base", "query", TEXT, "Build to compare with; by default earlier ones."),
        Input("branch", "query", TEXT, "Branch whose last build is reported, instead of a head."),
        format_input(REPORT_FORMS),
    ),
    problems=READ_PROBLEMS,
)
async def report(request: Request) -> Response:
    """The report of a build up to its night, or of two builds.

    Raises:
        Problem: 400 if a parameter is unknown, or two contradict each other.
    """
    service: Service = request.app.state.service
    need_all_pools(request.state.bearer, "the report")
    form = choose_form(request, REPORT_FORMS)
    check_parameters(request, _REPORT_PARAMETERS)
    wanted = ReportRequest.of(request.query_params)

    def answer(reader: Store, judged: JudgedNight | None) -> Response:
        facts = (wanted, form, read_settings(service.config))
        night = key_of(judged) if judged else wanted.night(reader, service.nights)
        tag = entity_tag(night or store_version(service, reader), request.url.path, *facts)
        if known := answer_unchanged(request, tag):
            return known
        if night:
            made = service.nights.report(reader, night, judged)
        else:
            made = wanted.compare(reader, service.nights)
        response = text_answer(forms.render(made, form), REPORT_FORMS[form], tag)
        response.headers["Tracehouse-Verdict"] = made.verdict
        return response

    seconds = service.settings.query_seconds * WAITING_SHARE
    await await_indexed(service, seconds)
    return await query_night(request, answer, seconds=seconds)


@Operation(
    "/v1/status",
    "State of the store and the service.",
    _TABLE,
    (TABLE_FORMAT,),
    problems=READ_PROBLEMS,
)
async def status(request: Request) -> Response:
    """The state of the store and the service."""
    service: Service = request.app.state.service
    need_all_pools(request.state.bearer, "the status")
    form = choose_form(request, TABLE_FORMS)

    def answer(reader: Store) -> Response:
        table = status_table(read_status(service.store, writer=reader))
        for name, value in (
            ("service_problem", str(service.consumer.problem or "")),
            ("service_seconds", int(time.monotonic() - service.started)),
        ):
            table = table.append_column(name, pa.array([value]))
        return table_answer(request, table, form)

    return await query_store(request, answer)


def store_version(service: Service, reader: Store) -> tuple[object, ...]:
    """The version of the store's content, read before the content, so that it is never too new.

    Upkeep may change content without a trace in tables, such as a rebuild of dumps.
    """
    count = service.consumer.upkeep_count
    (row,) = reader.sql(read_statement("store_version")).to_pylist()
    return count, *row.values()


def _read_params(request: Request) -> Params:
    """The parameters of an address: a text, or several; empty texts are ignored."""
    given: dict[str, list[str]] = {}
    for name, value in request.query_params.multi_items():
        if value and name not in RESERVED:
            given.setdefault(name, []).append(value)
    return {name: texts if len(texts) > 1 else texts[0] for name, texts in given.items()}


@cache
def _catalogue() -> str:
    return json_text([_describe(header) for header in list_headers()]) + "\n"


def _describe(header: Header) -> dict[str, object]:
    parameters = [parameter._asdict() for parameter in header.params]
    return {
        "name": header.name,
        "purpose": header.purpose,
        "description": header.description,
        "parameters": [{name: one[name] for name in _PARAMETER_FIELDS} for one in parameters],
        "columns": [column._asdict() for column in header.columns],
    }


@Operation(
    "/v1/explain",
    "What differs between the two builds of an alert.",
    {200: {**content_of(_EXPLAIN_FORMS), "application/json": OBJECT}, 304: {}},
    (
        Input("group", "query", TEXT, "Id of the alert's group, as the report has it."),
        Input("head", "query", TEXT, "Build of the report; by default the last."),
        format_input(_EXPLAIN_FORMS),
    ),
    problems=READ_PROBLEMS,
)
async def explain(request: Request) -> Response:
    """The explanation of an alert in a report.

    Raises:
        Problem: 400 if the parameters are unknown or incomplete.
    """
    service: Service = request.app.state.service
    need_all_pools(request.state.bearer, "the explanation")
    form = choose_form(request, _EXPLAIN_FORMS)
    check_parameters(request, _PARAMETERS)
    group, head = (request.query_params.get(name) or None for name in ("group", "head"))
    if group is None:
        raise Problem(400, "group", "name an alert, too: group=ID, as /v1/report has it")

    def answer(reader: Store, judged: JudgedNight | None) -> Response:
        settings = read_settings(service.config)
        tag = entity_tag(
            store_version(service, reader), request.url.path, group, head, form, settings
        )
        if known := answer_unchanged(request, tag):
            return known
        night = key_of(judged) if judged else NightKey.of(reader, settings, head)
        report = service.nights.report(reader, night, judged)
        made = explain_group(reader, report, group)
        return text_answer(explain_forms.render(made, form), _EXPLAIN_FORMS[form], tag)

    seconds = service.settings.query_seconds * WAITING_SHARE
    await await_indexed(service, seconds)
    return await query_night(request, answer, seconds=seconds)
