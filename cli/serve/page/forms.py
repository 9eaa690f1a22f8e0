"""Fields of the page's own forms."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request

from tracehouse.cli.serve.http.endpoints import read_short
from tracehouse.cli.serve.http.problems import Problem

FORM_BYTES = 8 << 10  # 500 characters may be 6,000 bytes
MOST_FIELDS = 8


async def read_form(request: Request, wanted: str) -> dict[str, str]:
    """The fields of a form; `wanted` says in an error what the form has.

    Raises:
        Problem: The body is not a form, or too long.
    """
    body = await read_short(request, most_bytes=FORM_BYTES)
    try:
        fields = parse_qs(body.decode("ascii"), errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise Problem(400, "not_a_form", f"the form is malformed, wanted {wanted}") from error
    return {name: values[-1] for name, values in fields.items()}
