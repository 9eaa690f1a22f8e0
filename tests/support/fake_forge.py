"""GitHub's and GitLab's comments on a pull request, faked on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

ME = {"id": 7, "type": "Bot"}


class Trouble(NamedTuple):
    """An answer to the next request of a method; a write is done all the same if `is_done`.

    With status 0, the connection ends without an answer; with 200, the answer is no JSON.
    """

    method: str
    status: int
    headers: dict[str, str] = {}  # noqa: RUF012
    is_done: bool = False


class FakeForge:
    """The comments, the requests as method and path, and what goes wrong next."""

    def __init__(self) -> None:
        self.url = ""
        self.comments: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str]] = []
        self.troubles: list[Trouble] = []

    def add(self, body: str, author: dict[str, Any] = ME, association: str = "NONE") -> None:
        """Add a comment, as both forges list it."""
        self.comments.append(
            {
                "id": len(self.comments) + 1,
                "body": body,
                "user": author,
                "author": author,
                "author_association": association,
            }
        )

    def answer(self, method: str, url: str, body: dict[str, str]) -> Any:
        """The JSON that a request is answered with."""
        path, query = urlsplit(url).path, parse_qs(urlsplit(url).query)
        if path.endswith("/user"):
            return ME
        if method == "GET":
            size, page = int(query["per_page"][0]), int(query["page"][0])
            return self.comments[size * (page - 1) : size * page]
        if method == "POST":
            self.add(body["body"])
            return self.comments[-1]
        (found,) = (one for one in self.comments if str(one["id"]) == path.rpartition("/")[2])
        return found.update(body) or found


@contextmanager
def fake_forge() -> Iterator[FakeForge]:
    """A forge that answers until the end of the body."""
    forge = FakeForge()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length) or "{}")
            forge.asked.append((self.command, self.path))
            trouble = next((one for one in forge.troubles if one.method == self.command), None)
            if trouble:
                forge.troubles.remove(trouble)
            is_done = trouble is None or trouble.is_done
            text = json.dumps(forge.answer(self.command, self.path, body) if is_done else {})
            if trouble and not trouble.status:
                return
            self.send_response(trouble.status if trouble else 200)
            for name, value in trouble.headers.items() if trouble else ():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"<html>" if trouble else text.encode())

        do_POST = do_PATCH = do_PUT = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        forge.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield forge
        finally:
            server.shutdown()
            thread.join()
