from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, fromstring

import pytest

from tracehouse.queries.report.junit import xml_file

pytestmark = pytest.mark.unit


def test_a_file_can_be_read_whatever_characters_its_texts_have() -> None:
    text = "".join(map(chr, [*range(0x20), 0x7F, 0x9B, 0xD800, 0xFFFE, 0xFFFF, 0x1F600]))
    root = Element("root", name=text)
    SubElement(root, "child").text = text
    found = fromstring(xml_file(root).encode())  # noqa: S314 - ours
    assert found[0].text == (
        "".join(f"\\x{code:02x}" for code in range(9))
        + "\t\n\\x0b\\x0c\n"  # XML makes a line end of a carriage return
        + "".join(f"\\x{code:02x}" for code in range(14, 32))
        + "\x7f\x9b\\ud800\\ufffe\\uffff\U0001f600"
    )
    assert "\\x00" in found.get("name", "")
