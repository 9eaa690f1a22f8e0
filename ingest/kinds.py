"""The kind of an event: the one rule that sorts the runtime's event names."""

from __future__ import annotations

_BY_NAME = {
    b"Method::execute": "method",
    b"Method::init": "load",
    b"Program::load_method": "load",
    b"OPERATOR_CALL": "operator_call",
    b"DELEGATE_CALL": "delegate_call",
    b"delegate_execute": "delegate_call",
    b"JF_CALL": "control",
    b"MOVE_CALL": "control",
}


def event_kind(name: bytes, *, is_delegated: bool) -> str:
    """Kind of the event with this name; `is_delegated` says whether it carries a delegate id.

    >>> event_kind(b"native_call_add.out", is_delegated=False)
    'kernel'
    """
    if is_delegated:
        return "delegate_op"
    if name.startswith(b"native_call_"):
        return "kernel"
    return _BY_NAME.get(name, "other")
