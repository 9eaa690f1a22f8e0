"""Random filters for a question, drawn so that some dumps of a farm pass them and some do not.

The values are those of the farm's own manifests: a name, a glob of several, several at once, or a
name in another spelling of its accents. Filters that would leave nearly all dumps or nearly none
are drawn again, because then an answer is that without filters, or empty, and tells little. So are
those of which a value could be left out, because a query that overlooks it would be right. Times
are those of a dump that passes or just does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import cached_property
from random import Random
from typing import Any
from unicodedata import normalize

from tests.tools.audit.farms import Farm
from tests.tools.audit.oracles.places import (
    FILTERS,
    NAMES,
    NAMES_OF_RUNS,
    chosen,
    is_refused,
    listed,
    names_of,
    tag_text,
)
from tests.tools.audit.questions import Question
from tests.tools.audit.recordings import Recording
from tracehouse.warehouse.catalogue.header import Parameter
from tracehouse.warehouse.catalogue.queries import find_query

LEAST, MOST = 0.3, 0.7  # share of dumps that usual filters leave
TRIES = 300
UNUSUAL = 8  # of so many draws one leaves no dump, and one means nothing in the store
_OF_PAIRS = {"base": "build", "head": "build", "base_backend": "backend", "head_backend": "backend"}

Draw = Mapping[str, Any]
Condition = Callable[[Draw], bool]


@dataclass(frozen=True)
class Draws:
    """What is drawn for the questions of a farm.

    Attributes:
        farm: The farm.
        seed: Another one draws other filters.
        refused_at: When files were refused, if the question is about these.
        random: Where chance comes from, which is set for each question.
    """

    farm: Farm
    seed: int = 0
    refused_at: Sequence[datetime] = ()
    random: Random = field(default_factory=Random)  # noqa: S311 - to be repeated

    @property
    def dumps(self) -> list[Recording]:
        return self.farm.recordings

    def question(self, query: str, number: int) -> Question:
        """The draw of this number for a query, whatever else is drawn."""
        self.random.seed(f"{self.seed} {query} {number}")
        params = find_query(query).header.params
        if query == "ingest_errors":  # these are of no time of a dump
            of_refusals = replace(self, farm=Farm(self.farm.name))
            return Question(self.farm.name, query, of_refusals._values(params, self._is_usual))
        last = UNUSUAL - 1 - number % UNUSUAL
        aim = {0: self._is_empty, 1: self._is_refused}.get(last, self._is_usual)
        return Question(self.farm.name, query, self._draw(params, aim))

    def _draw(self, params: Sequence[Parameter], aim: Condition) -> Draw:
        """Values for parameters that reach an aim; a query without filters has none.

        Raises:
            LookupError: Hardly any values reach it.
        """
        for _ in range(TRIES):
            drawn = self._values(params, aim)
            if aim(drawn) or {*FILTERS}.isdisjoint(param.name for param in params):
                return drawn
        raise LookupError(f"none of {TRIES} draws reaches {aim.__name__}")

    def _values(self, params: Sequence[Parameter], aim: Condition) -> Draw:
        drawn: dict[str, Any] = {}
        for param in params:
            value = self._value(param, drawn)
            if value is not None:
                drawn[param.name] = value
        filters = [name for name in drawn if name in NAMES or name == "tag"]
        if aim == self._is_refused and filters:
            name = self.random.choice(filters)
            drawn[name] = self._misspelt(drawn[name])
        return drawn

    def _value(self, param: Parameter, drawn: Draw) -> Any:
        chance = 0.3 if param.type == "TIMESTAMP" else 0.4
        name, is_drawn = param.name, param.is_required or self.random.random() < chance
        if name in _OF_PAIRS and is_drawn:
            other = drawn.get("base" if name == "head" else "base_backend")
            return self.random.choice(sorted(self.names[_OF_PAIRS[name]] - {other}))
        if not is_drawn:
            return None
        if param.type == "STRING[]" and self.names.get(name):
            return self._named(sorted(self.names[name]))
        draw = getattr(self, f"_draw_{name}", None)
        if draw is not None:
            return draw()
        return self.random.choice(param.choices) if param.type == "STRING" else None

    @cached_property
    def names(self) -> dict[str, set[str]]:
        """The names that each parameter of names may have."""
        return {name: names_of(self.dumps, name) for name in (*NAMES, *NAMES_OF_RUNS)}

    def _named(self, names: Sequence[str]) -> str | list[str]:
        """A name, a glob, or several of both."""
        count = self.random.choice((1, 1, 1, 2, 3))
        texts = [self._text(self.random.choice(names)) for _ in range(count)]
        return texts if count > 1 or self.random.random() < 0.2 else texts[0]

    def _text(self, name: str) -> str:
        """A name, or a glob that it matches unless it has letters of globs itself."""
        if not (name.isascii() and name.isalnum()) and self.random.random() < 0.6:
            return self.random.choice((name, normalize("NFD", name)))
        place = self.random.randrange(len(name))
        letter = name[place]
        texts = (
            name, name, name, f"{name[:place]}*", f"*{name[place:]}", "*",
            f"{name[:place]}?{name[place + 1 :]}", f"{name[:place]}[!{letter}]*",
            f"{name[:place]}[{letter}{letter.swapcase()}]*",
        )  # fmt: skip
        return self.random.choice(texts)

    def _misspelt(self, value: str | list[str]) -> str | list[str]:
        """The values of a filter, of which one means nothing that is in the store."""
        if isinstance(value, str):
            return f"{value}-"
        place = self.random.randrange(len(value))
        return [f"{text}-" if n == place else text for n, text in enumerate(value)]

    def _draw_tag(self) -> list[str] | str:
        """Tags of some dumps; of one key or of several."""
        texts = []
        for _ in range(self.random.choice((1, 1, 2, 2, 3))):
            own = self.random.choice(self.dumps)
            if own.tags:
                key = self.random.choice(sorted(own.tags))
                texts.append(f"{key}={self._text(str(tag_text(own, key)))}")
        return texts if len(texts) > 1 else (texts or ["missing="])[0]

    def _draw_since(self) -> str:
        """A time at which a dump was recorded, or just after it, in some zone."""
        times = sorted(dump.captured_at for dump in self.dumps if dump.captured_at)
        time = self.random.choice(times or self.refused_at)
        time += timedelta(milliseconds=self.random.choice((0, 0, 1)))
        zone = timezone(timedelta(hours=self.random.choice((0, 5, -3))))
        return time.astimezone(zone).isoformat()

    _draw_until = _draw_since

    def _draw_group_by(self) -> str:
        keys = {key for dump in self.dumps for key in dump.tags}
        return self.random.choice(["device", "pool", "os", "backend", "branch", *sorted(keys)])

    def _draw_dump(self) -> int:
        return self.random.choice(self.dumps).number

    def _draw_size_tag(self) -> str:
        return "size"

    def _draw_ordinal(self) -> int:
        return self.random.choice((1, 1, 2))

    def _draw_instruction_id(self) -> int:
        return self.random.choice((0, 1, 2))

    def _draw_top_n(self) -> int:
        return self.random.choice((1, 3))

    def _draw_peak_gflops(self) -> float:
        return 1.5

    def _draw_peak_gbps(self) -> float:
        return 2.0

    def _compared(self, drawn: Draw) -> list[Recording]:
        """The dumps that a question is about before its filters."""
        sides = {drawn[name] for name in _OF_PAIRS if name in drawn}
        return [dump for dump in self.dumps if not sides or sides & {dump.build, dump.model[1]}]

    def _is_usual(self, drawn: Draw) -> bool:
        if is_refused(self.dumps, drawn):
            return False
        among = self._compared(drawn)
        left = self._left(drawn)
        share = sum(dump.number in left for dump in among) / len(among)
        return LEAST <= share <= MOST and all(self._left(less) != left for less in _less(drawn))

    def _left(self, drawn: Draw) -> set[int]:
        return {dump.number for dump in chosen(self.dumps, drawn)}

    def _is_empty(self, drawn: Draw) -> bool:
        return not is_refused(self.dumps, drawn) and not chosen(self.dumps, drawn)

    def _is_refused(self, drawn: Draw) -> bool:
        return is_refused(self.dumps, drawn)


def _less(drawn: Draw) -> Iterator[Draw]:
    """The same filters without one of the values, or from or to the next moment."""
    for name in ("since", "until"):
        if name in drawn:
            later = datetime.fromisoformat(drawn[name]) + timedelta(microseconds=1)
            yield {**drawn, name: later.isoformat()}
    for name in FILTERS:
        texts = listed(drawn[name]) if name in drawn else []
        for place in range(len(texts)):
            rest = texts[:place] + texts[place + 1 :]
            yield {**drawn, name: rest or None}
