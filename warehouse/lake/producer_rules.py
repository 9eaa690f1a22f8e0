"""The rules of producers as SQL, for events of lakes that an older version wrote."""

from __future__ import annotations

import re

from ingest.producers import Rule, shipped_producers

_CLASSES = {r"\d": "[0-9]", r"\w": "[0-9A-Za-z_]"}


def with_rules(text: str) -> str:
    """The text with the shipped rules in place of their names, for any engine.

    A rule gives ``kind/unit``, with nothing for ticks; where none matches, the kind stays.
    """
    for column, name, is_of_delegates in (
        ("delegate_id_str", "rule_of_delegate_id", True),
        ("name", "rule_of_event_name", False),
    ):
        rules = shipped_producers().rules(is_of_delegates=is_of_delegates)
        cases = " ".join(_case(column, rule) for rule in rules)
        text = text.replace(f"THEN {name}", f"THEN CASE {cases} ELSE kind || '/' END")
    return text


def _case(column: str, rule: Rule) -> str:
    pattern = _without_escapes(rule.pattern.pattern.decode()).replace("'", "''")
    return f"WHEN regexp_like({column}, '^(?s:{pattern})$') THEN '{rule.kind}/{rule.unit or ''}'"


def _without_escapes(pattern: str) -> str:
    r"""The pattern without backslashes, which engines read differently in texts.

    >>> _without_escapes(r".+:OpId_\d+ \(us\)")
    '.+:OpId_[0-9]+ [(]us[)]'
    """
    return re.sub(r"\\(.)", lambda found: _CLASSES.get(found[0], f"[{found[1]}]"), pattern)
