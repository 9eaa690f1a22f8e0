from __future__ import annotations

from starlette.testclient import TestClient

from tests.support.pages import table_rows


def test_a_device_has_its_days(sick_site: TestClient) -> None:
    rows = table_rows(sick_site.get("/?device=device-1").text)
    assert len(rows) == 2
    assert rows[0][1] == "6 (50 %) refused, 20 % in its pool; 44 °C, its pool 31 °C"
    assert rows[1][1:] == ["6", "6", "44 °C", "44 °C"]


def test_a_device_that_only_had_refusals_is_shown_without_days(sick_site: TestClient) -> None:
    rows = table_rows(sick_site.get("/?pool=pool-1").text)
    assert rows[1][:3] == ["never", "3 (100 %) refused, 25 % in its pool", "–"]
