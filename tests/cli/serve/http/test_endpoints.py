from __future__ import annotations

import pytest

from tests.support.service import serving
from tracehouse.cli.serve.access.authorization import Scope
from tracehouse.cli.serve.access.tokens import create_token
from tracehouse.cli.serve.app import list_routes
from tracehouse.cli.serve.http.endpoints import Endpoint

ENDPOINTS = [route for route in list_routes() if isinstance(route, Endpoint)]
SCOPES = (Scope.INGEST, Scope.READ, Scope.SQL)


@pytest.fixture(scope="module")
def statuses(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, Scope | None], int]:
    """What each endpoint answers without a token, and to a token of each scope."""
    store = tmp_path_factory.mktemp("store")
    secrets = {scope: create_token(store, scope, scopes=[scope]) for scope in SCOPES}
    found = {}
    with serving(store) as client:
        client.app.state.changes.end()  # type: ignore[attr-defined]  # or its stream goes on
        for endpoint in ENDPOINTS:
            method, path = endpoint.operation.method, endpoint.path
            url = path.format(sha256="0" * 64, name="dumps", id="0")
            for scope in (None, *SCOPES):
                headers = {} if scope is None else {"Authorization": f"Bearer {secrets[scope]}"}
                answer = client.request(method.upper(), url, headers=headers)
                found[method, path, scope] = answer.status_code
    return found


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: each.operation.summary)
def test_an_endpoint_asks_for_the_scopes_that_it_declares(
    endpoint: Endpoint, statuses: dict[tuple[str, str, Scope | None], int]
) -> None:
    method, path, wanted = endpoint.operation.method, endpoint.path, endpoint.operation.scopes
    assert (statuses[method, path, None] == 401) == bool(wanted)
    for scope in SCOPES:
        is_refused = statuses[method, path, scope] == 403
        assert is_refused == (bool(wanted) and scope not in wanted), scope
