"""A timeline's page in real headless Chromium: `make test-browser`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.browser import Page
from tests.support.timelines import event, forward, timed_dump
from tracehouse.queries.timeline.dumps import TimedDump
from tracehouse.queries.timeline.page import page_text
from tracehouse.queries.timeline.slices import lay_out_runs

HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
SHOWN = "document.getElementById('details').innerText"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A page of a base and a head, one of whose runs failed."""
    both = [
        timed_dump(forward(), label="base"),
        timed_dump(forward(0, delegate=45), forward(200)[:-1], label=HOSTILE),
        timed_dump([event(HOSTILE, 0, 50, 1)], label="odd"),
    ]
    place = tmp_path / "timeline.html"
    place.write_text(page_text([lay_out_runs(dump) for dump in both]), encoding="utf-8")
    return place


def _press(page: Page, *keys: str) -> None:
    for key in keys:
        page.evaluate(f"document.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))")


@pytest.mark.parametrize("is_dark", [False, True])
def test_the_timeline_page_draws_without_warnings_or_requests(
    page: Page, place: Path, *, is_dark: bool
) -> None:
    page.show(place, width=1200, is_dark=is_dark)
    _press(page, "f")
    assert page.complaints() == []
    assert page.requests() == [place.as_uri()]
    assert page.evaluate("document.title") == "Timeline"


def test_events_are_found_and_read_by_keys_alone(page: Page, place: Path) -> None:
    page.show(place, width=1200)
    _press(page, "ArrowRight")
    assert "Method::execute" in page.evaluate(SHOWN)
    _press(page, "ArrowDown", "ArrowRight", "ArrowDown")
    assert page.evaluate(SHOWN).split("\n")[0] == "conv #1"
    assert "30 ns" in page.evaluate(SHOWN)
    _press(page, "Enter")
    assert 30 <= page.evaluate("view[1] - view[0]") < 40
    _press(page, "0", "Escape")
    assert "Nothing is selected" in page.evaluate(SHOWN)


def test_frames_of_the_flame_graph_tell_their_share(page: Page, place: Path) -> None:
    page.show(place, width=1200)
    _press(page, "f", "ArrowRight", "ArrowDown", "ArrowDown")
    assert page.evaluate(SHOWN).split("\n")[0] == "Method::execute"
    assert "100 %" in page.evaluate(SHOWN)


def test_found_slices_are_counted(page: Page, place: Path) -> None:
    page.show(place, width=1200)
    page.evaluate("find.value = 'CONV'; find.dispatchEvent(new Event('input'))")
    assert page.evaluate("document.getElementById('found').textContent") == "3 found, 105 ns"


def test_page_fits_a_phone(page: Page, place: Path) -> None:
    page.show(place, width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def _written(tmp_path: Path, dump: TimedDump, *runs: str) -> Path:
    place = tmp_path / "odd.html"
    place.write_text(page_text([lay_out_runs(dump, runs)]), encoding="utf-8")
    return place


def test_a_clock_that_began_decades_ago_can_be_zoomed(page: Page, tmp_path: Path) -> None:
    dump = timed_dump(forward(0), forward(10**18))
    page.show(_written(tmp_path, dump), width=1200)
    page.evaluate("show(1e18, 1e18 + 200)")
    _press(page, "w", "d", "Escape")
    assert page.complaints() == []
    assert page.evaluate("view[1] - view[0]") >= 1e18


def test_tracks_beyond_the_canvas_height_are_cut_with_a_note(page: Page, tmp_path: Path) -> None:
    dump = timed_dump(*[forward(0)] * 400)
    page.show(_written(tmp_path, dump), width=600)
    hidden = "document.getElementById('cut').hidden"
    assert page.evaluate("canvas.height <= 32767 && canvas.clientHeight > 30000")
    assert page.evaluate(hidden) is False
    first = "[...pen.getImageData(60, 60, 1, 1).data].join()"
    assert page.evaluate(first) != "0,0,0,0"
    page.show(_written(tmp_path, dump, "0"), width=600)
    assert page.evaluate(hidden) is True
