from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.service import serving


@pytest.mark.parametrize("body", [b"token=\xff", b"&".join(b"a%d=1" % i for i in range(9))])
def test_a_login_with_a_malformed_form_is_refused(tmp_path: Path, body: bytes) -> None:
    with serving(tmp_path) as client:
        answer = client.post("/login", content=body)
    assert (answer.status_code, answer.json()["reason"]) == (400, "not_a_form")
    assert answer.json()["detail"] == "the form is malformed, wanted token=SECRET"
