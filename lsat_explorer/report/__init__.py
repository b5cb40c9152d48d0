"""A run as one self-contained page: everything that there is to see of it, readable without this package.

`Run.report` and ``lsat-explorer show RUN --html FILE`` make it.
"""

from __future__ import annotations

from .report import Report, report_of

__all__ = ["Report", "report_of"]
