from __future__ import annotations

import pytest

from tracehouse.queries.report.settings import Amount, parse_amount


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("10 ms", Amount(1e7, "ns")),
        ("2.5us", Amount(2500, "ns")),
        ("3 µs", Amount(3000, "ns")),
        ("1 s", Amount(1e9, "ns")),
        ("20 MB", Amount(2e7, "bytes")),
        ("1 MiB", Amount(2**20, "bytes")),
        ("1,024 bytes", Amount(1024, "bytes")),
        ("30 /s", Amount(30, "/s")),
        ("80 %", Amount(0.8, "share")),
        ("1e3 mJ", Amount(1000, "mJ")),
        ("300 images/s", Amount(300, "images/s")),
        ("12", Amount(12, None)),
        (0.5, Amount(0.5, None)),
    ],
)
def test_amounts_have_a_value_and_a_unit(written, amount):
    found = parse_amount(written)
    assert found.unit == amount.unit
    assert found.value == pytest.approx(amount.value)


@pytest.mark.parametrize("written", ["", "ms", "ten ms", "1..2 ms", True, None, [1], float("nan")])
def test_a_malformed_amount_is_refused_with_examples(written):
    with pytest.raises(ValueError, match="'10 ms', '20 MB'"):
        parse_amount(written)
