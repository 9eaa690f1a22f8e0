from __future__ import annotations

from xml.etree.ElementTree import fromstring

from starlette.testclient import TestClient

from tests.support.waiting import until

ATOM = "{http://www.w3.org/2005/Atom}"


def test_judged_nights_are_entries_of_the_feed(site: TestClient) -> None:
    site.get("/regressions", params={"head": "b9"})
    site.get("/regressions", params={"head": "b8"})
    until(lambda: "b8: " in site.get("/nights.atom").text)
    answer = site.get("/nights.atom")
    assert answer.headers["content-type"] == "application/atom+xml"
    feed = fromstring(answer.text)  # noqa: S314 - ours
    entries = {entry.findtext(f"{ATOM}title") or "": entry for entry in feed.iter(f"{ATOM}entry")}
    first, second = (title for title in entries if title.startswith(("b8: ", "b9: ")))
    assert first.startswith("b9: 1 slowdown is new and not confirmed yet")
    assert second.startswith("b8: Nothing got slower")
    entry = entries[first]
    assert entry.find(f"{ATOM}link").get("href") == "/regressions?head=b9"  # type: ignore[union-attr]
    assert str(entry.findtext(f"{ATOM}summary")) in first
    assert feed.findtext(f"{ATOM}updated") == next(feed.iter(f"{ATOM}entry")).findtext(
        f"{ATOM}updated"
    )
    assert 'href="/nights.atom"' in site.get("/dumps").text
