"""Colours and rules of charts: custom properties in a page, plain colours in a file.

Programs other than browsers know no custom properties, so a file has each colour itself, for light
pages and once more for dark ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from types import MappingProxyType

# The colours of pages and charts on a light and on a dark page.
PALETTE = {
    "page": ("#f6f7f9", "#0e1219"), "card": ("#fff", "#161b24"), "sunk": ("#f0f2f6", "#10151d"),
    "edge": ("#dfe4eb", "#2a3342"), "grid": ("#e6eaf0", "#222a37"),
    "ink": ("#141a24", "#e7ebf2"), "soft": ("#535f71", "#9ca8ba"), "mark": ("#9aa5b5", "#6b788c"),
    "accent": ("#3446b4", "#a6b3ff"), "accent-wash": ("#eaedfb", "#232a4d"),
    "on-accent": ("#fff", "#10152c"),
    "act": ("#b3201b", "#ff9287"), "act-wash": ("#fdebe9", "#3b1b1c"),
    "act-fill": ("#c22a22", "#ff9287"),
    "watch": ("#855000", "#efb65f"), "watch-wash": ("#fcf1dd", "#352811"),
    "good": ("#10684a", "#66d3a5"), "good-wash": ("#e4f3eb", "#143029"),
    "known": ("#44587a", "#adbedb"), "known-wash": ("#e8edf5", "#222c3d"),
    "s-1": ("#3446b4", "#a6b3ff"), "s-2": ("#0b7285", "#5cc8da"), "s-3": ("#94580a", "#e5ac5b"),
    "s-4": ("#8a3d9e", "#d79be6"), "s-5": ("#566b1e", "#b3cb6f"), "s-6": ("#5d6878", "#a3aebe"),
    "s-7": ("#a12769", "#f492c2"), "s-8": ("#2f6b8f", "#8cc4e6"),
}  # fmt: skip
SERIES = [name for name in PALETTE if name.startswith("s-")]  # the classes c0, c1, ...
# The colours of the kinds of events in a timeline.
EVENTS = {
    "method": ("#d3def2", "#24365c"), "load": ("#e7dcf3", "#3a2a52"),
    "kernel": ("#cdeadb", "#17432f"), "operator_call": ("#e2e7ee", "#2b3444"),
    "delegate_call": ("#fbe3c0", "#4b3510"), "delegate_op": ("#f7d5d2", "#52211f"),
    "delegate_phase": ("#fdf0db", "#33260f"), "control": ("#d9eef1", "#153a42"),
    "other": ("#dfe4eb", "#2a3342"),
}  # fmt: skip
_TONES = {
    "slower": "act", "new": "watch", "changed": "watch", "faster": "good", "acknowledged": "known",
    "fixed": "known", "unchanged": "soft", "unsure": "soft",
}  # fmt: skip
# Properties that a class around an element sets, and the colour that each class gives them.
_SCOPES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "line": {f".c{i}": PALETTE[name] for i, name in enumerate(SERIES)},
    "tone": {f".{kind}": PALETTE[name] for kind, name in _TONES.items()},
    "fill": {f".kind-{kind}": colours for kind, colours in EVENTS.items()},
}
_RULES = """\
text { fill: var(--soft); font-variant-numeric: tabular-nums; }
text.ink { fill: var(--ink); }
text.lead { font-size: 13px; }
text.strong { font-size: 13px; font-weight: 600; fill: var(--ink); }
text.big { font-size: 19px; font-weight: 700; fill: var(--ink); }
.grid, .tick { stroke: var(--edge); }
.grid + text { paint-order: stroke; stroke: var(--halo, var(--card)); stroke-width: 3; }
.zero { stroke: var(--mark); }
.line { fill: none; stroke: var(--line, var(--mark)); stroke-width: 1.6; stroke-linejoin: round; }
.point { fill: var(--line, var(--mark)); }
.band { fill: var(--line, var(--mark)); opacity: .15; }
.gap { fill: none; stroke: var(--soft); }
.name { fill: var(--line, var(--soft)); font-weight: 600; }
.mark { stroke: var(--tone, var(--act)); stroke-width: 1.5; stroke-dasharray: 3 3; }
.mark.good { stroke: var(--good); }
.mark.note { stroke: var(--accent); stroke-dashoffset: 3; }
.hit { fill-opacity: 0; }
.at .values { fill: var(--ink); visibility: hidden; }
.at .hair { stroke: var(--ink); visibility: hidden; }
.at:hover .values, .at:focus-within .values, .here .values { visibility: visible; }
.at:hover .hair, .at:focus-within .hair, .here .hair { visibility: visible; }
svg:has(.at:hover, .at:focus-within, .here) .mark-name { visibility: hidden; }
.dots { fill: none; stroke-width: 4.5; stroke-linecap: round; opacity: .6; }
.median { stroke-width: 2; }
.base { stroke: var(--mark); }
.head { stroke: var(--tone, var(--accent)); }
.zone { fill: var(--grid); }
.span { stroke: var(--tone); stroke-width: 3; stroke-linecap: round; }
.dot { fill: var(--tone); stroke: var(--card); stroke-width: 1.5; }
.tip { fill: var(--tone); }
.say { font-size: 13px; fill: var(--tone); }
.unsure .span { stroke-dasharray: 2 5; }
.trace { fill: none; stroke: var(--soft); stroke-width: 1.5; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
.since { fill: var(--wash); }
.end { fill: var(--tone, var(--soft)); }
.spark .point { fill: var(--soft); }
rect.bar { fill: var(--s-1); }
.event { fill: var(--fill); stroke: var(--card); stroke-width: .5; }
.changed .event { stroke: var(--act); stroke-width: 2; }
.box { fill: var(--line); fill-opacity: .09; stroke: var(--line); stroke-width: 1.2; }
.arrow { fill: none; stroke: var(--soft); }
.arrow-head { fill: var(--soft); }
.paper { fill: var(--card); }
"""  # noqa: E501 - a rule a line
_RULE = re.compile(r"^(.*?) \{ (.*) \}$", re.MULTILINE)
_PROPERTY = re.compile(r"var\(--([\w-]+)(?:, (var\([^()]*\)))?\)")
_CLASS = re.compile(r"\.([a-zA-Z][\w-]*)")
_COLOURED = re.compile(r"[\w-]+: var\(--[^;]*;")
_DECLARED = re.compile(r"[\w-]+: [^;]*;")
_SEPARATOR = re.compile(r", (?![^(]*\))")
_FONT = (
    'svg { font: 12px -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; }'
)


def colour_class(number: int) -> str:
    """The class of the elements of a line."""
    return f"c{number % len(SERIES)}"


def custom_properties(shade: int) -> str:
    """The palette on a light (0) or on a dark page (1), for the root of a page."""
    return " ".join(f"--{name}: {colours[shade]};" for name, colours in PALETTE.items())


def page_rules() -> str:
    """The rules of charts in a page, whose root has the palette."""
    rules = [
        f"{', '.join(_in_svg(one) for one in _split(selector))} {{ {declared} }}"
        for selector, declared in _RULE.findall(_RULES)
    ]
    rules.insert(0, "svg text { font-size: 11px; }")
    rules += [f".c{i} {{ --line: var(--{name}); }}" for i, name in enumerate(SERIES)]
    rules += [
        f".kind-{kind} {{ --fill: light-dark({light}, {dark}); }}"
        for kind, (light, dark) in EVENTS.items()
    ]
    return "\n".join(rules) + "\n"


def file_rules(classes: Set[str]) -> str:
    """The rules of charts in a file, as far as its elements have their classes."""
    light, dark = ("\n".join(_resolve(shade, classes)) for shade in (0, 1))
    return f"{_FONT}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def _resolve(shade: int, classes: Set[str]) -> Iterator[str]:
    """The rules with the colours of a shade; dark ones only as far as they have a colour."""
    for selector, declared in _RULE.findall(_RULES):
        wanted = [one for one in _split(selector) if classes >= {*_CLASS.findall(one)}]
        if shade:
            declared = " ".join(_COLOURED.findall(declared))
        if not wanted or not declared:
            continue
        scope = next((name for name in _SCOPES if f"var(--{name}" in declared), None)
        plain = _colour(declared, shade)
        if base := " ".join(one for one in _DECLARED.findall(plain) if "var(" not in one):
            yield f"{', '.join(wanted)} {{ {base} }}"
        for class_, colours in _SCOPES[scope].items() if scope else ():
            if class_.removeprefix(".") in classes:
                coloured = " ".join(_COLOURED.findall(declared))
                own = _colour(coloured, shade, {scope or "": colours[shade]})
                scoped = (f"{class_} {one}, {one}{class_}" for one in wanted)
                yield f"{', '.join(scoped)} {{ {own} }}"


def _colour(declared: str, shade: int, scoped: Mapping[str, str] = MappingProxyType({})) -> str:
    """Declarations with the colours of a shade and of a scope, or those that they fall back on."""

    def replace(found: re.Match[str]) -> str:
        name, other = found.groups()
        if name in scoped:
            return scoped[name]
        if name in PALETTE:
            return PALETTE[name][shade]
        return _colour(other, shade) if other else found[0]

    return _PROPERTY.sub(replace, declared)


def _split(selector: str) -> list[str]:
    return _SEPARATOR.split(selector)


def _in_svg(selector: str) -> str:
    return selector if selector.startswith("svg") else f"svg {selector}"
