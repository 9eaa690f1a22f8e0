from __future__ import annotations

import pytest

from tests.tools.distribution import ReleaseError, check_changelog

LOG = "# Changelog\n\n## 1.2.0 (2026-11-27)\n\n## 1.1.0 (2026-10-01)\n"


@pytest.mark.parametrize("version", ["1.2.0", "1.3.0.dev4+gabcdef0"])
def test_a_tagged_version_is_the_first_of_the_changelog(version: str) -> None:
    check_changelog(version, LOG)


def test_a_changelog_of_another_version_stops_a_release() -> None:
    with pytest.raises(ReleaseError, match=r"begins with 1\.2\.0, but the tag says 1\.3\.0"):
        check_changelog("1.3.0", LOG)


def test_a_changelog_without_a_date_stops_a_release() -> None:
    with pytest.raises(ReleaseError, match=r"1\.2\.0 needs a date instead of \(unreleased\)"):
        check_changelog("1.2.0", LOG.replace("2026-11-27", "unreleased"))
