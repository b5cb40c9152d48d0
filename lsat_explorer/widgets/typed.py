"""Numbers as hands type them."""

from __future__ import annotations

import re

__all__ = ["typed_number"]

_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")


def typed_number(text: str) -> float:
    """Return the number that a text is, which may have a minus sign and groups of three digits as views write them.

    Another comma is a decimal point.

    Raises
    ------
    ValueError
        If the text is no number.

    Examples
    --------
    >>> typed_number("1,000"), typed_number("0,125"), typed_number("−230.2")
    (1000.0, 0.125, -230.2)
    """
    plain = text.strip().replace("\N{MINUS SIGN}", "-")
    return float(plain.replace(",", "") if _GROUPED.fullmatch(plain) else plain.replace(",", "."))
