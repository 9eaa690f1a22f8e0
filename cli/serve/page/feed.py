"""The Atom feed of judged nights."""

from __future__ import annotations

from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement

from starlette.responses import Response

from tracehouse.cli.serve.access.authorization import need_all_pools
from tracehouse.cli.serve.page.cells import link
from tracehouse.cli.serve.page.page_request import PageRequest
from tracehouse.queries.printable import printable
from tracehouse.queries.report.junit import xml_file
from tracehouse.queries.report.sentences import split_summary

_ATOM = "http://www.w3.org/2005/Atom"
_NIGHTS = """SELECT n.build, n.summary, max(n.judged_at) AS judged_at
FROM judged_nights AS n
JOIN builds_in_order AS b ON b.build = n.build
GROUP BY ALL
ORDER BY max(b.position) DESC, judged_at DESC
LIMIT 50"""


def feed(request: PageRequest) -> Response:
    """The newest judged builds, with their summaries."""
    need_all_pools(request.bearer, "the feed")
    root = Element("feed", xmlns=_ATOM)
    nights = request.store.sql(_NIGHTS).to_pylist()
    _add(root, id="urn:tracehouse:nights", title="Nightly reports")
    _add(root, updated=nights[0]["judged_at"].isoformat() if nights else "1970-01-01T00:00:00Z")
    SubElement(SubElement(root, "author"), "name").text = "tracehouse"
    for night in nights:
        entry = SubElement(root, "entry")
        title = f"{night['build']}: {split_summary(night['summary'])[0]}"
        _add(entry, id=f"urn:tracehouse:night:{quote(night['build'])}", title=title)
        _add(entry, updated=night["judged_at"].isoformat(), summary=night["summary"])
        SubElement(entry, "link", href=link("/regressions", head=night["build"]))
    return Response(xml_file(root), media_type="application/atom+xml")


def _add(parent: Element, **texts: str) -> None:
    for name, text in texts.items():
        SubElement(parent, name).text = printable(text)
