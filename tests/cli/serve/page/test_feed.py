from __future__ import annotations

from xml.etree.ElementTree import fromstring

from starlette.testclient import TestClient

from tests.support.waiting import until

ATOM = "{http://www.w3.org/2005/Atom}"


def test_judged_nights_are_entries_of_the_feed(site: TestClient) -> None:
    site.get("/regressions", params={"head": "b9"})
    site.get("/regressions", params={"head": "b8"})
    until(lambda: "b8: clear" in site.get("/nights.atom").text)
    answer = site.get("/nights.atom")
    assert answer.headers["content-type"] == "application/atom+xml"
    feed = fromstring(answer.text)  # noqa: S314 - ours
    entries = {entry.findtext(f"{ATOM}title"): entry for entry in feed.iter(f"{ATOM}entry")}
    titles = [title for title in entries if title and title.startswith(("b8", "b9"))]
    assert titles == ["b9: suspects", "b8: clear"]
    entry = entries["b9: suspects"]
    assert entry.find(f"{ATOM}link").get("href") == "/regressions?head=b9"  # type: ignore[union-attr]
    assert str(entry.findtext(f"{ATOM}summary")).startswith("b9: ")
    assert feed.findtext(f"{ATOM}updated") == next(feed.iter(f"{ATOM}entry")).findtext(
        f"{ATOM}updated"
    )
    assert 'href="/nights.atom"' in site.get("/dumps").text
