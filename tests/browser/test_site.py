"""The service's page in real headless Chromium: `make test-browser`."""

from __future__ import annotations

import pytest

from tests.browser.test_report_page import CONTRASTS
from tests.support.browser import DESK, PHONE, Page
from tracehouse.cli.serve.page.routes import SCRIPTS
from tracehouse.cli.serve.page.site import VIEWS

MORE = [
    "/explore/build_history?event=native_call_convolution.out",
    "/explore/operator_hotspots",
    "/explore/build_history?device=phone",
    "/explore/no_such_query",
    "/regressions",
    "/sql?sql=SELECT+device,+count(*)+AS+dumps+FROM+named_dumps+GROUP+BY+ALL",
    "/login",
    "/help",
    "/timelines?device=phone&base=b8&head=b9",
]


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("path", [*VIEWS, *MORE, "dump"])
def test_every_view_fits_and_loads_nothing_from_elsewhere(
    site: str, page: Page, dump: str, path: str, width: int
) -> None:
    page.show(site + (dump if path == "dump" else path), width=width)
    assert len(page.complaints()) == (path == "/explore/no_such_query")  # not found
    assert {url.rpartition("/")[0] == site or url.startswith((site, "data:"))
            for url in page.requests()} == {True}  # fmt: skip
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    scripts = page.evaluate("[...document.scripts].map(one => one.getAttribute('src'))")
    assert set(scripts) <= SCRIPTS.keys()


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", [*VIEWS, *MORE, "dump"])
def test_every_text_stands_out_from_what_is_behind_it(
    site: str, page: Page, dump: str, path: str, is_dark: bool
) -> None:
    page.show(site + (dump if path == "dump" else path), width=DESK, is_dark=is_dark)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert page.evaluate(CONTRASTS) == []


def test_a_filter_is_set_with_the_keyboard_alone(site: str, page: Page) -> None:
    page.show(f"{site}/dumps", width=DESK)
    page.evaluate("document.querySelector('.more-filters > summary').focus()")
    page.press("Enter")
    page.evaluate("document.querySelector('input[name=device]').focus()")
    page.forget()
    page.press("tablet", "Enter")
    page.wait()
    assert "device=tablet" in page.evaluate("location.search")
    rows = page.evaluate("document.querySelector('table').innerText")
    assert "tablet" in rows
    assert "phone" not in rows


def test_the_first_tab_leads_past_the_navigation(site: str, page: Page) -> None:
    page.show(f"{site}/", width=DESK)
    page.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#main"


def test_plots_have_accessible_names(site: str, page: Page) -> None:
    page.show(f"{site}/explore/build_history", width=DESK)
    assert page.names("slider")[0].startswith("Execute over 12 builds")
    images = page.names("image")
    assert any(name.startswith("phone · net from ") for name in images)
    assert "" not in images
    assert page.names("heading")[:2] == ["Execute, build by build", "What got slower"]


def test_a_link_of_the_fleet_leads_to_the_devices_operators(site: str, page: Page) -> None:
    page.show(f"{site}/", width=DESK)
    page.forget()
    page.evaluate(
        "[...document.querySelectorAll('td a')].find(a => a.textContent == 'b10').click()"
    )
    page.wait()
    text = page.evaluate("document.body.innerText")
    assert "Slowest operators" in text
    assert "convolution #1" in text


def test_headings_sort_with_the_keyboard(site: str, page: Page) -> None:
    page.show(f"{site}/explore/build_history?event=native_call_convolution.out", width=DESK)
    page.forget()
    page.evaluate("document.querySelector('th a').focus()")
    page.press("Enter")
    page.wait()
    assert "sort=device" in page.evaluate("location.search")
    assert page.evaluate("document.querySelector('th').ariaSort") == "ascending"


def test_tables_do_not_scroll_vertically(site: str, page: Page) -> None:
    for path in ("/dumps", "/compare", "/explore/operator_hotspots", "/regressions"):
        page.show(site + path, width=DESK)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        cut = "[...document.querySelectorAll('main *')].filter(one => "
        cut += "one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test("
        cut += "getComputedStyle(one).overflowY) && one.querySelector('tr')).length"
        assert page.evaluate(cut) == 0, path


def test_a_wide_table_scrolls_and_keeps_its_first_column(site: str, page: Page) -> None:
    page.show(f"{site}/explore/regression_deltas", width=DESK)
    left = "document.querySelector('.answer td').getBoundingClientRect().x"
    before = page.evaluate(left)
    box = "document.querySelector('.answer .scroll')"
    page.evaluate(f"{box}.scrollLeft = 10000")
    assert page.evaluate(f"{box}.scrollLeft") > 0
    assert page.evaluate(left) == before
    assert page.evaluate("document.documentElement.scrollWidth") == DESK


def test_a_filter_field_shows_its_whole_value(site: str, page: Page) -> None:
    page.show(f"{site}/explore/build_history?device=phone&model=net", width=PHONE)
    page.evaluate("document.querySelector('.more-filters').open = true")
    cut = "[...document.querySelectorAll('.fields input')].filter(one => "
    cut += "one.scrollWidth > one.clientWidth).length"
    assert page.evaluate(cut) == 0


def test_ctrl_enter_runs_a_statement_whose_words_are_coloured(site: str, page: Page) -> None:
    page.show(f"{site}/sql", width=DESK)
    page.evaluate("document.querySelector('textarea').focus()")
    page.press("SELECT 42 AS a -- b")
    words = "[...document.querySelectorAll('.editor .word')].map(one => one.textContent)"
    assert page.evaluate(words) == ["SELECT", "AS"]
    assert page.evaluate("document.querySelector('.editor .remark').textContent") == "-- b"
    page.forget()
    page.evaluate(
        "document.querySelector('textarea').dispatchEvent(new KeyboardEvent('keydown', "
        "{key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true}))"
    )
    page.wait()
    assert "42" in page.evaluate("document.querySelector('td').innerText")


def test_a_mistyped_filter_links_to_the_nearest_name(site: str, page: Page) -> None:
    page.show(f"{site}/explore/operator_hotspots?device=tablett", width=DESK)
    page.forget()
    page.evaluate("document.querySelector('.nearest a').click()")
    page.wait()
    assert "convolution #1" in page.evaluate("document.body.innerText")


def test_a_statement_is_stopped_while_the_browser_waits(site: str, page: Page) -> None:
    page.show(f"{site}/sql", width=DESK)
    page.evaluate(
        "document.querySelector('textarea').value = 'SELECT count(*) FROM range(1000000000000)'"
    )
    page.forget()
    page.evaluate(
        "document.querySelector('form.sql button').click();"
        "setTimeout(() => document.querySelector('button[name=stop]').click(), 200)"
    )
    page.wait()
    assert "stop=1" in page.evaluate("location.search")
    assert page.evaluate("document.querySelector('textarea').value").startswith("SELECT count(*)")
    page.evaluate("document.querySelector('textarea').value = 'SELECT 42 AS a'")
    page.forget()
    page.evaluate("document.querySelector('form.sql button').click()")
    page.wait()
    assert "42" in page.evaluate("document.querySelector('td').innerText")


def test_an_alert_is_acknowledged_and_reopened_where_it_is_shown(site: str, page: Page) -> None:
    page.show(f"{site}/regressions", width=DESK)
    group, states = page.evaluate("document.querySelector('.triage [name=group]').value"), []
    form = f"document.querySelector('.triage [value=\"{group}\"]').form"
    for state in ("acknowledged", "reopened"):
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        page.evaluate(f"{form}.reason.focus()")
        page.press("known")
        page.forget()
        page.evaluate(f"{form}.querySelector('[value={state}]').click()")
        page.wait()
        assert page.complaints() == []
        states.append(
            page.evaluate(f"{form}.closest('article').classList.contains('acknowledged')")
        )
    assert page.evaluate("location.pathname") == "/regressions"
    assert states == [True, False]
