"""The explanation of an alert, as an answer of the API."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from tracehouse.cli.serve.access.pools import need_all_pools
from tracehouse.cli.serve.answers.questions import await_indexed, query_night
from tracehouse.cli.serve.answers.reads import WAITING_SHARE, store_version
from tracehouse.cli.serve.answers.tables import entity_tag, text_answer, unchanged
from tracehouse.cli.serve.http.endpoints import (
    OBJECT,
    READ_PROBLEMS,
    TEXT,
    Input,
    Operation,
    content_of,
    format_input,
)
from tracehouse.cli.serve.http.negotiation import check_parameters, choose_form
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.service import Service
from tracehouse.queries.explain import forms
from tracehouse.queries.explain.explanation import explain_group
from tracehouse.queries.report.settings import read_settings
from tracehouse.queries.report.stored_nights import NightKey, key_of
from tracehouse.warehouse.store import Store
from tracehouse.warehouse.upkeep.nights import JudgedNight

_FORMS = forms.MEDIA_TYPES
_PARAMETERS = ("group", "head", "format")


@Operation(
    "/v1/explain",
    "What differs between the two builds of an alert.",
    {200: {**content_of(_FORMS), "application/json": OBJECT}, 304: {}},
    (
        Input("group", "query", TEXT, "Id of the alert's group, as the report has it."),
        Input("head", "query", TEXT, "Build of the report; by default the last."),
        format_input(_FORMS),
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
    form = choose_form(request, _FORMS)
    check_parameters(request, _PARAMETERS)
    group, head = (request.query_params.get(name) or None for name in ("group", "head"))
    if group is None:
        raise Problem(400, "group", "name an alert, too: group=ID, as /v1/report has it")

    def answer(reader: Store, judged: JudgedNight | None) -> Response:
        settings = read_settings(service.config)
        tag = entity_tag(
            store_version(service, reader), request.url.path, group, head, form, settings
        )
        if known := unchanged(request, tag):
            return known
        night = key_of(judged) if judged else NightKey.of(reader, settings, head)
        report = service.nights.report(reader, night, judged)
        made = explain_group(reader, report, group)
        return text_answer(forms.render(made, form), _FORMS[form], tag)

    seconds = service.settings.query_seconds * WAITING_SHARE
    await await_indexed(service, seconds)
    return await query_night(request, answer, seconds=seconds)
