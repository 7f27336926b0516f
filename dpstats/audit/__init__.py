"""Audits: lower bounds on the privacy loss of a release, and a search for neighbours that show it.

`dpstats.audit` is this package and is also called as the function: dpstats.audit(...) and
``from dpstats.audit import worst_neighbours`` both work.
"""

import sys
from types import ModuleType
from typing import Any

from dpstats.audit.audit import audit
from dpstats.audit.neighbours import worst_neighbours
from dpstats.audit.result import Audit, AuditPoint

__all__ = ["Audit", "AuditPoint", "audit", "worst_neighbours"]


class _CallablePackage(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Audit:
        return audit(*args, **options)


sys.modules[__name__].__class__ = _CallablePackage
