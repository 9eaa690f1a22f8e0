from __future__ import annotations

import pytest

from queries.report.choosing import GroupFilter, choose_groups
from tests.support.reports import group, member, report
from warehouse.errors import ParameterError


def test_a_group_that_is_too_old_for_the_report_can_be_decided_again() -> None:
    night = report(group(member(), id="new"))
    assert choose_groups(night, [], ["old", "new"], GroupFilter(), {"old"}) == ["old", "new"]
    with pytest.raises(ParameterError, match="has no group 'old'"):
        choose_groups(night, [], ["old", "new"], GroupFilter())
