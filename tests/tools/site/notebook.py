"""A notebook as a page: its texts, its code, and what the code showed."""

from __future__ import annotations

import base64
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
        data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
        if drawn := data.get("image/svg+xml"):
            encoded = base64.b64encode(drawn.encode()).decode()
            yield f"![What the code above draws](data:image/svg+xml;base64,{encoded})"
        elif shown := data.get("text/html"):
            yield shown
        elif printed := "".join(output.get("text") or data.get("text/plain", "")).rstrip():
            yield f"```text\n{printed}\n```"
