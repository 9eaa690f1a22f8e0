"""Bodies in parts (multipart/form-data): a dump, its manifest and its companions."""

from __future__ import annotations

from typing import NamedTuple

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from tracehouse.cli.serve.http.endpoints import TooLargeProblem
from tracehouse.cli.serve.http.problems import Problem
from tracehouse.ingest.manifest.json_files import MAX_MANIFEST_BYTES
from tracehouse.warehouse.inbox.inbox import Inbox
from tracehouse.warehouse.inbox.spools import Spool

NEEDED_PARTS = ("dump", "manifest")
PARTS = (*NEEDED_PARTS, "etrecord", "debug_buffer", "log", "qhas")
LONGEST_NAME = 255


class FormProblem(Problem):
    """A body in parts is malformed."""

    def __init__(self, problem: str) -> None:
        super().__init__(400, "multipart", f"the body is malformed: {problem}")


class FormPart(NamedTuple):
    """A part: the name of its file, its content so far, and its largest size."""

    file_name: str
    spool: Spool
    most_bytes: int


class PartReader:
    """Splits a body into its parts while it arrives; close the `spools` afterwards."""

    def __init__(self, request: Request, inbox: Inbox, most_bytes: int) -> None:
        """Find the boundary of the parts in the request's head; `most_bytes` limits a file.

        Raises:
            FormProblem: The head has no boundary.
        """
        self.parts: dict[str, FormPart] = {}
        self._inbox, self._most_bytes = inbox, most_bytes
        self._field, self._value, self._disposition = bytearray(), bytearray(), b""
        self._part: FormPart | None = None
        self._is_ended = False
        _, options = parse_options_header(request.headers["content-type"])
        try:
            self._parser = MultipartParser(
                options[b"boundary"],
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._on_field,
                    "on_header_value": self._on_value,
                    "on_header_end": self._on_header,
                    "on_headers_finished": self._open,
                    "on_part_data": self._write,
                    "on_end": self._end,
                },
            )
        except (KeyError, MultipartParseError) as error:
            raise FormProblem("no boundary of its parts in Content-Type") from error

    def write(self, piece: bytes) -> None:
        """Parse the next piece of the body.

        A StoreError is passed on.

        Raises:
            FormProblem: The body is malformed, or a part is unknown, given twice or too large.
        """
        try:
            self._parser.write(piece)
        except MultipartParseError as error:
            raise FormProblem(str(error)) from error

    @property
    def spools(self) -> list[Spool]:
        """The contents of the parts, for the caller to close."""
        return [part.spool for part in self.parts.values()]

    def check(self) -> None:
        """Check that the body is complete and has a dump and a manifest.

        Raises:
            FormProblem: It is incomplete.
        """
        if not self._is_ended:
            raise FormProblem("it ends in the middle of a part")
        missing = [name for name in NEEDED_PARTS if name not in self.parts]
        if missing:
            raise FormProblem(f"no part {missing[0]!r}")

    def _begin(self) -> None:
        self._disposition, self._part = b"", None

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header(self) -> None:
        if self._field.lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._field.clear()
        self._value.clear()

    def _open(self) -> None:
        _, options = parse_options_header(self._disposition)
        name = _decode(options.get(b"name", b""))
        if name not in PARTS:
            raise FormProblem(f"a part {name!r:.100}, wanted {', '.join(PARTS)}")
        if name in self.parts:
            raise FormProblem(f"two parts {name!r}")
        file_name = _decode(options.get(b"filename", b"")).replace("\\", "/").rpartition("/")[2]
        most_bytes = MAX_MANIFEST_BYTES if name == "manifest" else self._most_bytes
        self._part = FormPart(file_name[:LONGEST_NAME], self._inbox.spool(), most_bytes)
        self.parts[name] = self._part

    def _write(self, data: bytes, start: int, end: int) -> None:
        if part := self._part:
            if part.spool.byte_count + end - start > part.most_bytes:
                raise TooLargeProblem(part.most_bytes)
            part.spool.write(data[start:end])

    def _end(self) -> None:
        self._is_ended = True


def _decode(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise FormProblem("a name that is not UTF-8") from error
