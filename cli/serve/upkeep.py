"""`POST /v1/upkeep/{task}`: an endpoint for each upkeep task, and the results of long ones."""

from __future__ import annotations

import json

from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tracehouse.cli.remote import KEY_HEADER, UPKEEP_PATH
from tracehouse.cli.serve.access.authorization import Scope, need_all_pools
from tracehouse.cli.serve.http.endpoints import (
    JSON_OBJECT,
    TABLE_FORMAT,
    TEXT,
    Endpoint,
    Input,
    Operation,
    media_type_of,
    parse_body,
    read_short,
    table_content,
)
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.http.responses import TABLE_FORMS, choose_form, table_answer
from tracehouse.cli.serve.jobs import Job
from tracehouse.cli.upkeep.task import Task, parameters_of
from tracehouse.cli.upkeep.tasks import TASKS
from tracehouse.ingest.errors import pydantic_problem

ANSWER_SECONDS = 10.0  # a task that takes longer is answered with 202

_ANSWERS = {200: table_content(), 202: JSON_OBJECT}
_PROBLEMS = (400, 404, 406, 408, 409, 413, 415, 429, 503, 507)
_KEY = Input(
    KEY_HEADER, "header", {**TEXT, "maxLength": 64}, "A repeated request with it begins nothing."
)
_JOB = Input("id", "path", TEXT, "Id of the job, as in the answer 202.", is_required=True)


def _task_endpoint(kind: type[Task]) -> Endpoint:
    parameters: TypeAdapter[Task] = TypeAdapter(kind)

    @Operation(
        f"{UPKEEP_PATH}/{kind.name}",
        (kind.__doc__ or "").partition("\n")[0],
        _ANSWERS,
        (_KEY, TABLE_FORMAT),
        "post",
        tuple(map(Scope, kind.scopes)),
        {"application/json": parameters.json_schema()},
        _PROBLEMS,
    )
    async def begin(request: Request) -> Response:
        """Begin the task in the body, and wait a little for its end; a Problem is passed on."""
        need_all_pools(request.state.bearer, "upkeep")
        choose_form(request, TABLE_FORMS)  # before anything is changed
        task = await _read_task(request, parameters)
        key = request.headers.get(KEY_HEADER, "")[:64]
        job = request.app.state.jobs.begin(request.state.bearer, task, key)
        return await _answer(request, job)

    return begin


@Operation(
    f"{UPKEEP_PATH}/{{id}}",
    "The result of an upkeep task, or how far it is.",
    _ANSWERS,
    (_JOB, TABLE_FORMAT),
    scopes=(Scope.UPKEEP, Scope.TRIAGE),
    problems=_PROBLEMS,
)
async def get_job(request: Request) -> Response:
    """The rows of a job once it has ended; a Problem is passed on."""
    choose_form(request, TABLE_FORMS)
    bearer = request.state.bearer
    job: Job = request.app.state.jobs.find(request.path_params["id"], bearer.scopes)
    return await _answer(request, job)


ENDPOINTS = (*map(_task_endpoint, TASKS), get_job)


def describe(task: Task) -> str:
    """The task in a line, for the audit log."""
    given = {name: value for name, value in parameters_of(task).items() if value}
    return f"{task.name} {json.dumps(given)}"


async def _answer(request: Request, job: Job) -> Response:
    """The rows of a job, or how far it is; an error of its task is passed on."""
    request.state.what = describe(job.task)
    await job.wait(ANSWER_SECONDS)
    if not job.has_ended:
        state = {"id": job.id, "task": job.task.name, "done": job.done, "total": job.total}
        return JSONResponse(state, 202, headers={"Location": f"{UPKEEP_PATH}/{job.id}"})
    request.state.is_audited = True
    form = choose_form(request, TABLE_FORMS)
    return await run_in_threadpool(lambda: table_answer(request, job.result(), form))


async def _read_task(request: Request, parameters: TypeAdapter[Task]) -> Task:
    """The task in a body.

    Raises:
        Problem: 400 or 415; the body is malformed.
    """
    if media_type_of(request) != "application/json":
        raise Problem(415, "media_type", "wanted application/json: an object with the parameters")
    body = await read_short(request)
    parse_body(body)  # where a key may not be there twice
    try:
        return parameters.validate_json(body, strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"{name}: " for name in first["loc"])
        raise Problem(400, "body", f"the body: {place}{pydantic_problem(first['msg'])}") from error
