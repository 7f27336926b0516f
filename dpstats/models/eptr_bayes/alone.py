"""Where features lie, and what is released of classes, when there are no public rows.

Declared ranges may be far too wide, and noise would grow with them: so each feature's location and
scale are searched for first, by noisy counts within its range (`dpstats.column_search`), and rows are
cut in these units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpstats.arrays import Floats
from dpstats.column_search.releases import ColumnSession
from dpstats.column_search.scales import find_scales
from dpstats.frame import Design, design_extent, features_design
from dpstats.models.eptr_bayes.estimate import ClassGeometry
from dpstats.models.eptr_bayes.planning import blind_cut


@dataclass(frozen=True)
class DeclaredFeatures:
    """Features by their declared ranges.

    Attributes
    ----------
    classes : int
    middle, width : (p,) arrays
        Half the width of a range; of other columns the size that the formula and its limits tell.
    boxes : dict
        The ranges, by feature.
    """

    classes: int
    middle: Floats
    width: Floats
    boxes: dict[int, tuple[float, float]]

    @property
    def columns(self) -> tuple[int, ...]:
        """Columns of the design to be searched: the features, or any one so that rows are counted."""
        return tuple(self.classes + j for j in self.boxes) or (0,)


def declared_features(design: Design, classes: int, limits: Mapping[str, Any]) -> DeclaredFeatures:
    """From limits alone."""
    schema = {name: value for name, value in limits.items() if name != "(norm)"}
    features = features_design(design, classes)
    width, _ = design_extent(features, schema)
    middle, boxes = np.zeros(len(width)), {}
    for name, j in features.bare.items():
        limit = limits.get(name)
        if isinstance(limit, tuple):
            middle[j] = (limit[0] + limit[1]) / 2
            width[j] = (limit[1] - limit[0]) / 2
            boxes[j] = (float(limit[0]), float(limit[1]))
    return DeclaredFeatures(classes, middle, width, boxes)


def find_features(
    session: ColumnSession, declared: DeclaredFeatures, n: int, mu: float
) -> ClassGeometry:
    """Released locations and scales; a range is two scales to either side where none was found.

    ``mu``: of what is left for the release of moments.
    """
    location, scale = declared.middle.copy(), declared.width / 2
    places = sorted(declared.boxes)
    ranges = {k: declared.boxes[j] for k, j in enumerate(places)}
    found = find_scales(session, len(places), ranges)[1] if places else []
    for j, one in zip(places, found, strict=True):
        low, high = declared.boxes[j]
        if one.scale is not None and one.scale < scale[j]:
            location[j], scale[j] = min(max(one.location, low), high), one.scale
    mu = mu * math.sqrt(session.left)
    p = len(scale)
    cut = blind_cut(p, declared.classes, n, mu)
    centres = np.tile(location / scale, (declared.classes, 1))
    return ClassGeometry(
        np.diag(1 / scale), centres, cut.radius, 1.0, None, None, None, cut, None, np.ones(p)
    )
