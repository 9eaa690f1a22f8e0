from __future__ import annotations

import unicodedata

import pytest

from tests.support.reports import group, member, report
from tracehouse.queries.report.nightly import GroupFilter, choose_groups
from tracehouse.warehouse.errors import ParameterError


def test_a_group_that_is_too_old_for_the_report_can_be_decided_again() -> None:
    night = report(group(member(), id="new"))
    assert choose_groups(night, [], ["old", "new"], GroupFilter(), {"old"}) == ["old", "new"]
    with pytest.raises(ParameterError, match="has no group 'old'"):
        choose_groups(night, [], ["old", "new"], GroupFilter())


def test_names_of_a_filter_match_in_any_form_of_unicode() -> None:
    composed, decomposed = (unicodedata.normalize(form, "Büro") for form in ("NFC", "NFD"))
    group_ = group(member(device=composed), first_bad=composed)
    found = report(group_, head=composed)
    chosen = GroupFilter(device=[f"{decomposed[:-1]}*"], since=decomposed)
    assert choose_groups(found, [composed], [], chosen) == [group_.id]
