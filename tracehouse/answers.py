"""What stores and services answer: rows with their query, documents, and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracehouse.queries.report.figures import name_text

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from tracehouse.queries.comparison import Comparison
    from tracehouse.queries.report.forms import Form

MOST_ROWS = 50  # that a notebook shows
_COMPARISON = "comparison"


class Answer:
    """Rows of an answer.

    It has all attributes of its Arrow table, and can be used wherever Arrow takes a table.

    Attributes:
        name: The canned query; empty for SQL.
        table: The Arrow table.
    """

    def __init__(
        self, table: pa.Table, name: str = "", params: Mapping[str, object] | None = None
    ) -> None:
        """Keep the table of a query that was asked with these parameters."""
        self.table, self.name = table, name
        given = params or {}
        has_builds = {"base", "head"} <= given.keys()
        self._builds = {one: str(given[one]) for one in ("base", "head")} if has_builds else {}

    @property
    def note(self) -> str:
        """What the rows lack, or why they may be wrong; empty if nothing is known."""
        metadata: Mapping[bytes, bytes] = self.table.schema.metadata or {}
        return metadata.get(b"note", b"").decode()

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column that has one: ns, bytes, share or change."""
        from tracehouse.queries.cells import columns_of

        found = columns_of(self.table.slice(0, 0), self.name)
        return {column.name: column.unit for column in found if column.unit}

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.column_names)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    def to_arrow(self) -> pa.Table:
        """The Arrow table."""
        return self.table

    def to_pandas(self) -> pd.DataFrame:
        """A pandas DataFrame; without pandas this raises QueryError."""
        from tracehouse.queries.event_blocks.frames import optional_module

        optional_module("pandas", "a DataFrame")
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def to_pylist(self) -> list[dict[str, object]]:
        """The rows."""
        return list(self)

    def plot(self) -> Picture:
        """The answer drawn: lines over builds for histories, bars or intervals otherwise.

        QueryError is raised if no row has a number.
        """
        from tracehouse.queries.plots.figure import query_figure

        return Picture(query_figure(self.name or "sql", self.table, self._builds))

    def __len__(self) -> int:
        return self.num_rows

    def __iter__(self) -> Iterator[dict[str, object]]:
        for batch in self.table.to_batches():
            yield from batch.to_pylist()

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        return self.table[column]

    def __eq__(self, other: object) -> bool:
        table = other.table if isinstance(other, Answer) else other
        return bool(self.table == table)

    __hash__ = None  # type: ignore[assignment]  # as that of the table

    if not TYPE_CHECKING:  # a type checker knows what is above, and finds misspelt names

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") or name == "table":
                raise AttributeError(name)
            return getattr(self.table, name)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = ", ".join(self.column_names[:6])
        more = ", ..." if len(self.column_names) > 6 else ""
        rows = f"{self.num_rows:,} row{'' if self.num_rows == 1 else 's'}"
        return f"<Answer {self.name or 'sql'}: {rows}; {columns}{more}>"

    def _repr_html_(self) -> str:
        """The answer for notebooks: a comparison as its component, other rows as a table."""
        if self.name == _COMPARISON and self._builds:
            from tracehouse.queries.comparison import comparison_html

            found = _describe(self.table, **self._builds)
            return _frame(comparison_html(found, **self._builds))
        return _table_html(self.table, self.name, self.note)


class Document(str):
    """A text of a report in one of its forms, which notebooks show as a page."""

    form: Form

    def __new__(cls, text: str, form: Form) -> Document:
        """The text, which is of this form."""
        document = super().__new__(cls, text)
        document.form = form
        return document

    def _repr_html_(self) -> str:
        """The page, or the text as it is."""
        return _frame(self) if self.form == "html" else f"<pre>{escape(self)}</pre>"

    def _repr_markdown_(self) -> str | None:
        """The text if it is Markdown, which notebooks prefer to a page."""
        return str(self) if self.form == "markdown" else None


class Picture:
    """A drawing of an answer, which notebooks show.

    Attributes:
        svg: The drawing.
    """

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: str | Path) -> None:
        """Write the drawing to NAME.svg, or to NAME.png, which needs the extra `plots`.

        Raises:
            ValueError: The file has another suffix.
        """
        path = Path(path)
        match path.suffix.lower():
            case ".svg":
                path.write_text(self.svg, encoding="utf-8")
            case ".png":
                from tracehouse.queries.drawing.png import draw_png

                path.write_bytes(draw_png(self.svg))
            case _:
                raise ValueError(f"{path}: wanted a file name that ends in .svg or .png")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: {len(self.svg):,} bytes of SVG; .save('NAME.svg') writes it>"


def _frame(page: str) -> str:
    """A whole page inside of a notebook, whose styles it does not touch."""
    return (
        f'<iframe srcdoc="{escape(page)}" sandbox="" '
        'style="width:100%;height:32em;border:0;color-scheme:light dark"></iframe>'
    )


def _describe(table: pa.Table, *, base: str, head: str) -> Comparison:
    from tracehouse.queries.comparison import describe_pair

    return describe_pair(table.to_pylist(), base=base, head=head)


def _table_html(table: pa.Table, name: str, note: str) -> str:
    """The first rows, with units; what all rows have in common stands above, once."""
    from tracehouse.queries.cell_tables import html_lines
    from tracehouse.queries.cells import arrange_columns, lift_constants

    common, rows = lift_constants(arrange_columns(table, name), name)
    parts = [f"<p>{escape(common)}</p>"] if common else []
    shown = rows.slice(0, MOST_ROWS)
    parts += html_lines(shown, name)
    if table.num_rows > shown.num_rows:
        parts.append(f"<p>{table.num_rows - shown.num_rows:,} more rows</p>")
    if not table.num_rows:
        parts.append("<p>no rows</p>")
    if note:
        parts.append(f"<p>note: {escape(name_text(note, 1000))}</p>")
    return "".join(parts)
