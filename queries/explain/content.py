"""The content of an explanation, independent of its form.

Base is the last good build, head the first bad one. Times are medians over the dumps of a build.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracehouse.queries.report.content import Group
from tracehouse.queries.report.figures import name_text, place_text
from tracehouse.queries.report.parts import Breakdown, Part

FrameKind = Literal["run", "module", "call", "operator", "rest"]
ChangeKind = Literal["changed", "moved", "added", "removed"]


class Place(Part):
    """A model on a device, or on the devices of a pool, and the two builds compared there."""

    device: str | None = Field(description="Null if only a whole pool shows the change.")
    pool: str | None
    model: str
    backend: str | None
    base: str = Field(description="The last build without the change that was recorded here.")
    head: str = Field(description="The first build with the change that was recorded here.")

    @property
    def where(self) -> str:
        """The place for people."""
        return place_text(self.device, self.model, self.backend, self.pool)

    @property
    def builds(self) -> str:
        """The builds for people."""
        return f"{name_text(self.base)} → {name_text(self.head)}"


class TimeFrame(Part):
    """A part of a run with its time in both builds: the run, a module, a call, an operator."""

    name: str
    kind: FrameKind = Field(description="rest: what is outside of operators.")
    base: float | None = Field(
        description="Time in ns with all parts; null if the base lacks it, and for irregular runs."
    )
    head: float | None = Field(description="The same in the head.")
    change: float = Field(description="Its part of the method's change per run.")
    is_member: bool = Field(description="Whether the alert names the frame.")
    parts: list[TimeFrame] = Field(description="Longest first.")

    def time(self, side: str) -> float | None:
        """The time of the frame in the base or the head."""
        return self.base if side == "base" else self.head

    @property
    def has_member(self) -> bool:
        """Whether the alert names the frame or a part of it."""
        return self.is_member or any(part.has_member for part in self.parts)

    @property
    def longest(self) -> float:
        """The longer one of both times."""
        return max(self.base or 0.0, self.head or 0.0)


class RunTimes(Part):
    """Where the time of a method goes in both builds."""

    place: Place
    breakdown: Breakdown = Field(description="What its change consists of, as in the alert.")
    frame: TimeFrame = Field(description="The same parts by module and delegate call.")


class ProgramChange(Part):
    """A part of the program that differs."""

    change: ChangeKind = Field(description="moved: the same operator runs elsewhere.")
    part: str = Field(description="operator, constant, delegate, fusion, memory or file.")
    name: str = Field(description="E.g. 'layers.0.attn: aten.bmm.default'.")
    base: str | None = Field(description="E.g. its shapes and the backend; null if absent.")
    head: str | None


class Origin(Part):
    """What an operator of a run is in the program."""

    where: str = Field(description="Backend that runs it, or 'a kernel'.")
    nodes: list[str] = Field(description="Calls of the program, with types of their tensors.")
    is_whole_call: bool = Field(
        description="Whether the nodes are those of the whole delegate call, because the backend "
        "does not say which of them the operator runs."
    )
    modules: list[str]
    sources: list[str] = Field(description="Lines of the model's source, FILE:LINE.")


class OperatorOrigin(Part):
    """A changed operator in both programs."""

    name: str
    delta: float | None = Field(description="Its change, as a share.")
    base: Origin | None = Field(description="Null if the program or its node is unknown.")
    head: Origin | None
    is_same: bool = Field(description="Whether both programs call the same with the same shapes.")


class Programs(Part):
    """The programs of both builds of a model at a place."""

    place: Place
    base_etrecord: str | None = Field(description="SHA-256 of the ETRecord; null if unknown.")
    head_etrecord: str | None
    missing: list[str] = Field(description="What keeps the programs from being compared.")
    changes: list[ProgramChange]
    operators: list[OperatorOrigin] = Field(description="Operators of the alert, costliest first.")

    @property
    def is_same(self) -> bool | None:
        """Whether both builds ran one program; None if unknown."""
        known = None not in (self.base_etrecord, self.head_etrecord)
        return self.base_etrecord == self.head_etrecord if known else None


class Fact(Part):
    """A fact about the dumps in both builds, side by side."""

    where: str = Field(description="The place.")
    subject: Literal["environment", "memory", "exact measure", "counter"]
    name: str
    base: str
    head: str
    is_changed: bool


class Divergence(Part):
    """The first logged value that differs at a place."""

    where: str
    base_dump_id: int
    head_dump_id: int
    verdict: Literal["equal", "different", "not_compared"]
    compared_count: int
    equal_count: int
    operator: str | None = Field(description="The first that differs; null if none does.")
    command: str = Field(description="Command that says by how much.")


class Explanation(Part):
    """An explanation of an alert; see the attributes."""

    as_of: str = Field(description="Build whose report has the alert.")
    group: Group
    findings: list[str] = Field(description="What was found, in sentences.")
    place_count: int = Field(description="Models on devices that the alert names.")
    times: list[RunTimes] = Field(description="The costliest place of each model.")
    programs: list[Programs]
    facts: list[Fact]
    divergences: list[Divergence]
    commands: list[str] = Field(description="Commands that show the change again.")
