"""Numbers as the pages write them."""

from __future__ import annotations

import math


def count(value: float) -> str:
    """
    >>> count(40000000), count(-3), count(12.0)
    ('40,000,000', '−3', '12')
    """
    return f"{value:,.0f}".replace("-", "−")


def digits(value: float, many: int = 3) -> str:
    """
    >>> digits(0.0000748), digits(1234.5), digits(0.25), digits(2e-300)
    ('0.0000748', '1,234', '0.25', '2 · 10⁻³⁰⁰')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    power = math.floor(math.log10(abs(value)))
    if abs(power) > 8:
        return f"{value / 10.0**power:.{many}g} · 10{str(power).translate(_RAISED)}"
    return f"{value:,.{max(many - 1 - power, 0)}f}".replace("-", "−") if power >= many else _trimmed(value, many, power)


def percent(share: float, many: int = 3) -> str:
    """
    >>> percent(0.302), percent(1.0)
    ('30.2 %', '100 %')
    """
    return f"{digits(100 * share, many)} %"


def _trimmed(value: float, many: int, power: int) -> str:
    text = f"{value:.{max(many - 1 - power, 0)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
