"""Requests for reports: the builds that an address names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Self

from tracehouse.cli.serve.http.problems import Problem
from tracehouse.cli.serve.nights import Nights
from tracehouse.queries.report.content import Report
from tracehouse.queries.report.pairwise import compare_report
from tracehouse.queries.report.stored_nights import NightKey
from tracehouse.warehouse.store import Store


class ReportRequest(NamedTuple):
    """The builds that a report is about.

    Attributes:
        head: The build; by default the last one.
        base: The build to compare with; empty for those before the head, night by night.
        branch: Branch of the last build; by default that of the settings.
    """

    head: str | None = None
    base: str = ""
    branch: str | None = None

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Self:
        """The builds in the parameters of an address.

        Raises:
            Problem: 400 if they name a head and a branch.
        """
        head, base, branch = (fields.get(name, "") for name in cls._fields)
        if head and branch:
            raise Problem(400, "branch", "branch: name either a head or a branch, not both")
        return cls(head or None, base, branch or None)

    def night(self, reader: Store, nights: Nights) -> NightKey | None:
        """The key of the night; None if two builds are compared.

        Raises:
            QueryError: The store has no such build.
        """
        settings = nights.settings.of_branch(self.branch)
        return None if self.base else NightKey.of(reader, settings, self.head)

    def compare(self, reader: Store, nights: Nights) -> Report:
        """The comparison of the head with the base.

        Raises:
            QueryError: The store has no such build.
        """
        settings = nights.settings.of_branch(self.branch)
        return compare_report(reader, settings, base=self.base, head=self.head)
