"""Hooks of properdocs: pages that are made from the code, and links that lead out of docs/."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from properdocs.structure.files import File, Files  # noqa: E402

from tests.tools.site.notebook import notebook_page  # noqa: E402
from tests.tools.site.reference import commands_page, queries_page, schema_page  # noqa: E402

# Pages of the site that are files beside docs/.
_BESIDE = {"README": "guide.md", "CONTRIBUTING": "contributing.md", "CHANGELOG": "changelog.md"}
_TO_BESIDE = re.compile(rf"\]\((?:\.\./)?({'|'.join(_BESIDE)})\.md\)")
_TO_DOCS = re.compile(r"\]\(docs/([^)]*)\)")
_OUTWARDS = re.compile(r"\[([^\]]*)\]\((?:\.\./|tests/|LICENSE|AGENTS)[^)]*\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not files of docs/."""
    pages = {
        **{
            page: (ROOT / f"{name}.md").read_text(encoding="utf-8")
            for name, page in _BESIDE.items()
        },
        "notebook.md": notebook_page(ROOT / "docs/notebooks/farm.ipynb"),
        "reference/commands.md": commands_page(),
        "reference/queries.md": queries_page(),
        "reference/schema.md": schema_page(),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Point links between documents into the site, and turn links to other files into text."""
    linked = _TO_BESIDE.sub(lambda found: f"]({_BESIDE[found[1]]})", markdown)
    return _OUTWARDS.sub(r"\1", _TO_DOCS.sub(r"](\1)", linked))
