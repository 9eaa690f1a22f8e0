"""Elements as an XML file."""

from __future__ import annotations

from xml.etree import ElementTree

from tracehouse.queries.printable import xml_text

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'


def xml_file(root: ElementTree.Element) -> str:
    """The file, in which characters that XML cannot contain are escaped; their texts may be any."""
    for element in root.iter():
        element.text = element.text and xml_text(element.text)
        for name, value in element.items():
            element.set(name, xml_text(value))
    return f"{_DECLARATION}\n{ElementTree.tostring(root, 'unicode')}\n"
