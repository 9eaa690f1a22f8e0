"""Numbers and names of a report for people, the same in all forms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from tracehouse.queries.drawing.axis import duration_unit
from tracehouse.queries.printable import printable, shorten

NONE = "–"
MAX_NAME = 120
MAX_TEXT = 1000
_MOST = 1e12  # larger values are shown as powers of ten; no clock measures as much
_MOST_PERCENT = 1_000  # larger changes are shown as factors
_HASH = 9  # digits of a commit
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_EXACT = 2**53  # whole numbers up to here are exact
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_PREFIX = re.compile(r"^(native_call_|aten::|et_vk\.)")
_DTYPES = re.compile(r" ?\([^()]*\)")  # such as (NHWC, F32)
_OVERLOAD = re.compile(r"\.(?:(\w+?)_)?(?:out|default)$")
_NUMBER = re.compile(r" ?#(\d+)$")
_CALL = "DELEGATE_CALL"
_METHOD = "Method::"


def name_text(text: str | None, most: int = MAX_NAME) -> str:
    r"""An untrusted name or text, escaped and shortened; a dash for None.

    >>> name_text("a\x1bb")
    'a\\x1bb'
    """
    return NONE if text is None else shorten(printable(shorten(text, most)), most)


def build_text(build: str) -> str:
    """A build; a hash of 40 digits or more is cut to nine.

    >>> build_text("660154b848ac4d0cef4c0e1b19af52d80aaaaaaa"), build_text("sim-007")
    ('660154b84', 'sim-007')
    """
    return build[:_HASH] if _COMMIT.fullmatch(build) else name_text(build)


def duration_text(value_ns: float | None) -> str:
    """A duration, or a difference of two, to four digits in the unit that fits.

    >>> duration_text(1_234_567), duration_text(-950), duration_text(10_000), duration_text(None)
    ('1.235 ms', '−950 ns', '10.00 µs', '–')
    """
    if value_ns is None:
        return NONE
    size = abs(value_ns)
    scale, unit = duration_unit(size)
    shown = f"{size:.4g}" if scale == 1 else _digits(size / scale)
    return f"{_sign(value_ns)}{shown} {unit}"


def bytes_text(value: float | None) -> str:
    """A size, or a difference of two, to four digits in the unit that fits.

    >>> bytes_text(4_200_000), bytes_text(-12), bytes_text(None)
    ('4.200 MB', '−12 B', '–')
    """
    if value is None:
        return NONE
    size = abs(value)
    scale, unit = next((pair for pair in _SIZES if size >= pair[0] * 0.99995), (1.0, "B"))
    return f"{_sign(value)}{f'{size:.4g}' if scale == 1 else _digits(size / scale)} {unit}"


def times_text(base_ns: float | None, head_ns: float | None) -> str:
    """A change of a duration; a common unit is shown once.

    >>> times_text(9_130_000, 9_620_000), times_text(900, 1_100)
    ('9.130 → 9.620 ms', '900 ns → 1.100 µs')
    """
    base, head = duration_text(base_ns), duration_text(head_ns)
    number, _, unit = base.rpartition(" ")
    return f"{number if unit and head.endswith(f' {unit}') else base} → {head}"


def level_texts(base: float | None, head: float | None, unit: str) -> tuple[str, str, str]:
    """A value before and after a change, to four digits, and the unit that both have.

    >>> level_texts(2_878_000, 2_996_000, "ns"), level_texts(900, 1_100, "ns")
    (('2.878', '2.996', 'ms'), ('0.900', '1.100', 'µs'))
    >>> level_texts(1_048_576, 1_310_720, "bytes"), level_texts(None, 80.0, "ns")
    (('1,048,576', '1,310,720', 'bytes'), ('–', '80', 'ns'))
    """
    known = [abs(value) for value in (base, head) if value is not None]
    if unit == "share":
        return _share_level(base), _share_level(head), "%"
    if unit != "ns" or not known:
        shown = [NONE if value is None else exact_text(value) for value in (base, head)]
        return shown[0], shown[1], "" if unit == "count" or not known else unit
    scale, name = duration_unit(max(known))
    texts = []
    for value in (base, head):
        is_small = value is not None and 0 < abs(value) < scale / 100
        texts.append(duration_text(value) if is_small else _level_in(value, scale))
    return texts[0], texts[1], name


def _share_level(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.3g}"


def _level_in(value: float | None, scale: float) -> str:
    if value is None:
        return NONE
    size = abs(value) / scale
    return f"{_sign(value)}{f'{size:.4g}' if scale == 1 else _digits(size)}"


def scaled_text(value: float | None, scale: float) -> str:
    """A difference in a unit, to a tenth and with its sign, so that a column can be added up.

    >>> scaled_text(277_400, 1e3), scaled_text(-40, 1e3), scaled_text(None, 1e3)
    ('+277.4', '0.0', '–')
    """
    if value is None:
        return NONE
    size = abs(value) / scale
    shown = f"{size:,.1f}" if size < _MOST else f"{size:.4g}"
    return shown if not float(shown.replace(",", "")) else f"{'−' if value < 0 else '+'}{shown}"


def signed_text(value: float) -> str:
    """A number with its sign and two digits after the point.

    >>> signed_text(277.4), signed_text(-0.004)
    ('+277.40', '0.00')
    """
    shown = f"{abs(value):,.2f}" if abs(value) < _MOST else f"{abs(value):.4g}"
    return shown if not float(shown.replace(",", "")) else f"{'−' if value < 0 else '+'}{shown}"


def cost_text(value_ns: float | None) -> str:
    """A difference of durations, with its sign.

    >>> cost_text(84_500), cost_text(0)
    ('+84.50 µs', '0 ns')
    """
    text = duration_text(value_ns)
    return f"+{text}" if value_ns is not None and value_ns > 0 else text


def delta_text(share: float | None) -> str:
    """A change in percent, with its sign; above 1,000 % the factor.

    >>> delta_text(0.0624), delta_text(-0.0031), delta_text(2.5), delta_text(None)
    ('+6.2 %', '−0.31 %', '+250 %', '–')
    >>> delta_text(10), delta_text(12.34), delta_text(36_712_345)
    ('+1,000 %', '× 13.3', '× 36,700,000')
    """
    if share is None:
        return NONE
    if share > _MOST_PERCENT / 100:
        return f"× {_factor(1 + share)}"
    percent = abs(share) * 100
    digits = 0 if percent >= 99.95 else 1 if percent >= 0.995 else 2
    return f"{_sign(share) or '+'}{percent:,.{digits}f} %"


def interval_text(low: float | None, high: float | None) -> str:
    """An interval of a change.

    >>> interval_text(0.049, 0.074), interval_text(None, None)
    ('+4.9 % to +7.4 %', '–')
    """
    return NONE if low is None and high is None else f"{delta_text(low)} to {delta_text(high)}"


def number_text(value: float | None) -> str:
    """A number with a comma between thousands.

    >>> number_text(16_000), number_text(0.0213), number_text(-1234.5)
    ('16,000', '0.0213', '−1,234')
    """
    if value is None:
        return NONE
    size = abs(value)
    return f"{_sign(value)}{f'{size:,.0f}' if 1000 <= size < _MOST else f'{size:.4g}'}"


def count_text(count: int, noun: str) -> str:
    """A number with its noun, in the plural if needed.

    >>> count_text(1, "device"), count_text(2048, "dump")
    ('1 device', '2,048 dumps')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def and_more(first: str, count: int, noun: str = "") -> str:
    """The first item, and the number of others.

    >>> and_more("relu #1", 3), and_more("mv2", 2, "model"), and_more("mv2", 1, "model")
    ('relu #1 and 2 more', 'mv2 and 1 more model', 'mv2')
    """
    more = count_text(count - 1, f"more {noun}") if noun else f"{count - 1:,} more"
    return first if count < 2 else f"{first} and {more}"


def measure_text(value: float | None, unit: str) -> str:
    """A measure with its unit: durations in a suitable unit, whole numbers with every digit.

    >>> measure_text(1_234_567, "ns"), measure_text(1_310_720, "bytes"), measure_text(0.5, "share")
    ('1.235 ms', '1,310,720 bytes', '50 %')
    >>> measure_text(20, "count"), measure_text(0.5, "mJ"), measure_text(None, "bytes")
    ('20', '0.5 mJ', '–')
    """
    if value is None:
        return NONE
    if unit == "ns":
        return duration_text(value)
    if unit == "share":
        return f"{_sign(value)}{change_text(abs(value))}"
    if unit == "change":
        return delta_text(value)
    return " ".join([exact_text(value), *([unit] if unit != "count" else [])])


def exact_text(value: float) -> str:
    """Every digit of a whole number; four digits of others."""
    is_whole = abs(value) < _EXACT and value == int(value)
    return f"{value:,.0f}".replace("-", "−") if is_whole else number_text(value)


def place_text(device: str | None, model: str, backend: str | None, pool: str | None = None) -> str:
    """A device or pool, model and backend.

    >>> place_text("pixel8", "mv2", None), place_text(None, "mv2", "xnnpack", "arm")
    ('pixel8 · mv2', 'pool arm · mv2 · xnnpack')
    """
    where = device if device is not None else NONE if pool is None else f"pool {pool}"
    return " · ".join(name_text(part) for part in (where, model, backend) if part)


class OperatorName(NamedTuple):
    """A name for people.

    Attributes:
        name: The operator, without what numbers it.
        number: `#2`, or empty.
        run: The run, if the model has several; else empty.
        full: The name in JSON and CSV, with delegate id and ordinal.
        typed: The name with its data types, if it has any.
    """

    name: str
    number: str = ""
    run: str = ""
    full: str = ""
    typed: str = ""

    def __str__(self) -> str:
        """The name and what tells it from others."""
        where = f"in {self.run}" if self.run else ""
        return " ".join(filter(None, (self.name, self.number, where)))


def short_name(
    event_name: str,
    delegate_id: str | None,
    ordinal: int | None,
    run: str = "",
    level: str = "operator",
) -> OperatorName:
    """The name of a row or series; `level` is that of the query `comparison`.

    Without an ordinal, an operator has only the number that its delegate gave it.

    >>> str(short_name("native_call_convolution.out", None, 2, "Execute"))
    'convolution #2'
    >>> str(short_name("native_call_add.Scalar_out", None, 1, "Execute #2"))
    'add.Scalar #1 in Execute #2'
    >>> str(short_name("", "Convolution (NHWC, F32) IGEMM #3", 1)), str(short_name("conv", "7", 2))
    ('Convolution IGEMM #3', 'conv #7.2')
    >>> str(short_name("Method::execute", None, 1, "Execute")), str(short_name("power", None, 0))
    ('Execute', 'power')
    """
    full = full_name(event_name, delegate_id, ordinal or 0, run)
    if level == "module":
        return OperatorName(name_text(event_name) or "the program", full=full)
    if level == "operator_type":
        return OperatorName(_plain(event_name), full=full)
    if event_name.startswith(_METHOD):
        own = run or event_name.removeprefix(_METHOD).capitalize()
        return OperatorName(name_text(own), full=full)
    run = name_text(run) if " " in run else ""
    if ordinal == 0:  # a measure
        return OperatorName(name_text(event_name), "", run, full)
    if delegate_id is None:
        name, typed, number = _plain(event_name), _plain(event_name, has_types=True), ""
        name = "delegate call" if event_name == _CALL else name
    else:
        name, number = _name_delegated(event_name, delegate_id)
        typed, _ = _name_delegated(event_name, delegate_id, has_types=True)
    own = "" if ordinal is None else f"#{ordinal}"
    if number:
        own = f"#{number}{f'.{ordinal}' if ordinal is not None and ordinal > 1 else ''}"
    return OperatorName(name, own, run, full, typed if typed != name else "")


def full_name(event_name: str, delegate_id: str | None, ordinal: int, run: str = "") -> str:
    """The whole name: event, delegate id and ordinal.

    >>> full_name("convolution.out", None, 2, "Execute"), full_name("conv", "conv", 1)
    ('convolution.out #2', '[conv] #1')
    """
    name = None if event_name == delegate_id else name_text(event_name)
    place = None if delegate_id is None else f"[{name_text(delegate_id)}]"
    where = f"in {name_text(run)}" if " " in run else None
    number = f"#{ordinal}" if ordinal else None  # measures have none
    return " ".join(part for part in (name, place, number, where) if part)


def distinct_names(names: Sequence[OperatorName]) -> list[OperatorName]:
    """The names as they are shown beside each other: no two different ones read alike.

    Those that do have their data types; if these do not help, their full names.

    >>> pair = [short_name("", f"Convolution (NHWC, {types}) #1", 1) for types in ("F32", "F16")]
    >>> [str(name) for name in distinct_names(pair)]
    ['Convolution (NHWC, F32) #1', 'Convolution (NHWC, F16) #1']
    """
    shown = list(names)
    for name_apart in (_with_types, _with_full_name):
        alike: dict[str, set[str]] = {}
        for name in shown:
            alike.setdefault(str(name), set()).add(name.full)
        if all(len(full) < 2 for full in alike.values()):
            break
        shown = [name_apart(name) if len(alike[str(name)]) > 1 else name for name in shown]
    return shown


def _with_types(name: OperatorName) -> OperatorName:
    return name._replace(name=name.typed) if name.typed else name


def _with_full_name(name: OperatorName) -> OperatorName:
    return OperatorName(name.full, full=name.full)


def _name_delegated(
    event_name: str, delegate_id: str, *, has_types: bool = False
) -> tuple[str, str]:
    """The name of an operator inside a delegate, and its number there, if it has one."""
    plain = partial(_plain, has_types=has_types)
    if delegate_id.isdecimal():
        return plain(event_name) or "delegate", delegate_id
    found = _NUMBER.search(delegate_id)
    if found:
        return plain(delegate_id[: found.start()]), found[1]
    if event_name in ("", delegate_id):
        return plain(delegate_id), ""
    return f"{plain(event_name)} [{name_text(delegate_id)}]", ""


def _plain(name: str, *, has_types: bool = False) -> str:
    """A name without the prefix, overload and data types that tell nothing to people.

    >>> _plain("native_call_addmm.out"), _plain("Max Pooling (NHWC, F32)"), _plain("x.Tensor_out")
    ('addmm', 'Max Pooling', 'x.Tensor')
    """
    own = _PREFIX.sub("", name)
    own = _OVERLOAD.sub(lambda found: f".{found[1]}" if found[1] else "", own)
    return name_text(own if has_types else _DTYPES.sub("", own) or own or name)


def shorten_name(operator: OperatorName, most: int) -> str:
    """A name of at most so many letters, cut before its number.

    >>> shorten_name(short_name("native_call_max_pool2d.out", None, 1), 10)
    'max_po… #1'
    """
    whole = str(operator)
    tail = whole.removeprefix(operator.name)
    room = most - len(tail)
    return whole if len(whole) <= most or room < 2 else f"{shorten(operator.name, room)}{tail}"


def operator_text(event_name: str, delegate_id: str | None, ordinal: int, run: str = "") -> str:
    """The one name of an operator that every surface shows; see `short_name`."""
    return str(short_name(event_name, delegate_id, ordinal, run))


def _sign(value: float) -> str:
    return "−" if value < 0 else ""


def _factor(factor: float) -> str:
    """Three digits of a factor."""
    rounded = float(f"{factor:.3g}")
    return f"{rounded:,.{rounded < 100:d}f}" if factor < _MOST else f"{factor:.3g}"


def _digits(size: float) -> str:
    """Four digits, or more before the point, so that numbers of one unit align."""
    if size >= _MOST:
        return f"{size:.4g}"
    return f"{size:,.{sum(size < edge for edge in (999.95, 99.995, 9.9995))}f}"


def change_text(share: float) -> str:
    """The size of a change, without its direction.

    >>> change_text(0.031), change_text(7.52), change_text(75.2)
    ('3.1 %', '752 %', '7,520 %')
    """
    percent = 100 * share
    return f"{number_text(percent) if percent >= 999.5 else f'{percent:.3g}'} %"


def share_text(share: float | None) -> str | None:
    """A part of a whole, in percent; None stays None.

    >>> share_text(0.83), share_text(-0.0014)
    ('83 %', '−0.14 %')
    """
    return None if share is None else f"{_sign(share)}{change_text(abs(share))}"
