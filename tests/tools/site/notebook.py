"""A notebook as a page: its texts, its code, and what the code printed and drew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def notebook_page(path: Path) -> str:
    """The notebook in Markdown; pictures are in it."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _parts(cell))


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
        return
    yield f"```python\n{text}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            yield f"![What the code above draws](data:image/png;base64,{data['image/png'].strip()})"
        elif printed := "".join(output.get("text") or data.get("text/plain", ())).rstrip():
            yield f"```text\n{printed}\n```"
