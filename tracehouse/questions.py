"""The questions that stores and services answer alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tracehouse.answers import Answer, Document
    from tracehouse.queries.report.forms import Form


class Questions(Protocol):
    """What can be asked of a `Warehouse` and of a `Client`, with the same answers."""

    def query(self, name: str, /, **params: object) -> Answer:
        """Rows of a canned query.

        Args:
            name: Name of the query.
            **params: Parameters; texts are converted, and defaults filled in. A parameter of
                several values accepts a text or a sequence of texts, which may be globs.
        """

    def compare(self, base: str, head: str, /, **params: object) -> Answer:
        """What changed from one build to another: rows of the query `comparison`."""
        return self.query("comparison", base=base, head=head, **params)

    def report(
        self,
        head: str | None = None,
        *,
        base: str | None = None,
        branch: str | None = None,
        form: Form = "markdown",
    ) -> Document:
        """The report of a build, by default the last, or its comparison with a base."""

    def sql(
        self,
        text: str,
        params: Mapping[str, object] | Sequence[object] | None = None,
        *,
        allow_files: bool = False,
    ) -> Answer:
        """Rows of a SELECT over the tables and views.

        Args:
            text: The statement, which can neither change the store nor read or write files.
            params: Values of parameters: by name for ``$name``, in order for ``?``.
            allow_files: Let the statement read files, such as a CSV to join; only for a store of
                this machine that is opened with ``read_only``.
        """

    def schema(self) -> Answer:
        """Tables, views and columns with types and comments."""

    def status(self) -> Answer:
        """The state of the store, and of its service: one row."""
