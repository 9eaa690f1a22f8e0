"""What a view of the service's page shows, without its form and its facets."""

from __future__ import annotations

import re
from html import unescape

_FORM = re.compile(r'<form class="filters".*?</form>', re.DOTALL)


def shown(text: str) -> str:
    """The page without the form of filters, which names everything in the store."""
    return _FORM.sub("", text)


def table_rows(text: str) -> list[list[str]]:
    """The texts of the cells of all tables, row by row, without headings."""
    rows = re.findall(r"<tr[^>]*>(<td.*?)</tr>", text, re.DOTALL)
    cells = (re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows)
    return [[unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in row] for row in cells]


def links(text: str) -> dict[str, str]:
    """The addresses of a page's links, by their texts; of equal texts, the last counts."""
    found = re.findall(r'<a href="([^"]*)"[^>]*>(.*?)</a>', text, re.DOTALL)
    return {unescape(name): unescape(href) for href, name in found}
