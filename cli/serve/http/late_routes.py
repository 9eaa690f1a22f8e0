"""The routes that are imported after the service has begun to take uploads."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute, Route

from tracehouse.cli.serve.answers.agents import PATH, AgentEndpoint
from tracehouse.cli.serve.answers.explanations import explain
from tracehouse.cli.serve.answers.fleet_metrics import fleet_figures
from tracehouse.cli.serve.answers.reads import list_queries, query, report, schema, status
from tracehouse.cli.serve.answers.sql import sql
from tracehouse.cli.serve.changes import changes
from tracehouse.cli.serve.http.metrics import figures
from tracehouse.cli.serve.http.openapi import document
from tracehouse.cli.serve.page.routes import ROUTES as PAGE
from tracehouse.cli.serve.upkeep.endpoints import ENDPOINTS as UPKEEP

_READS = list_queries, query, schema, report, explain, status, sql, changes
# Its GET would be a stream that never says anything: the endpoint keeps no sessions.
_AGENTS = Route(PATH, AgentEndpoint(), methods=["POST"], include_in_schema=False)

LATE: Sequence[BaseRoute] = (
    *(figures, fleet_figures, document),
    *PAGE,
    *_READS,
    _AGENTS,
    *UPKEEP,
)
