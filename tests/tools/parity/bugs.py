"""Where the Inspector's answer is knowingly not ours, by number; docs/inspector-differences.md."""

from __future__ import annotations

from enum import StrEnum


class Bug(StrEnum):
    """A behaviour of the Inspector that tracehouse does not share."""

    I1 = "only the last of a run's equal events is kept"
    I2 = "delegate times are scaled before they are subtracted"
    I3 = "a 32-bit wrap is one tick short; any other backward clock raises"
    I5 = "floating-point values pass through flatc's decimal text"
    I6 = "module totals count delegates twice and match parts of names"
    I8 = "a block without events breaks every table"
    I9 = "an event that is neither profile nor debug event raises"
    I10 = "strides are ignored"
    I11 = "values that differ between runs raise"
    I12 = "without a debug buffer tensors are zeros"
    I15 = "only the method forward is known"
    I16 = "events outside instructions get the first instruction's debug handles"
    I17 = "a delegate id is matched by the last id that is part of it"
    I19 = "a bundled input index of -1 takes the last case's reference output"
    I20 = "a debug handle that is listed twice lists its operators twice"
    I21 = "an ETRecord with a constant program output, or without a map, does not load"
    I22 = "damaged files are read without a check"
    I23 = "a dump without a size prefix is unreadable"
    I24 = "a name that is not UTF-8, or a missing field, raises"
    X1 = "a value it cannot make a tensor or number of raises"
    X2 = "bits16 is called uint16"
    X3 = "a duration of 2^63 ticks or more counts like any other"


ALL = frozenset(Bug)
NONE: frozenset[Bug] = frozenset()
# Those that only decide whether there is an answer, and which.
_RAISING = {Bug.I8, Bug.I11, Bug.I21, Bug.I22, Bug.I23, Bug.I24, Bug.X1}
SPEAKING = ALL - _RAISING
