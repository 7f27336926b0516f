"""Moments of design and response, for the papers' methods and `eptr_lm`; score rounds have none."""

from __future__ import annotations

from dpstats.accounting.privacy import Privacy
from dpstats.arrays import Floats
from dpstats.mechanism.claims import GRAM, PRODUCT, Claim
from dpstats.mechanism.noise import Noise
from dpstats.mechanism.passes import RowSource
from dpstats.mechanism.release import Release
from dpstats.mechanism.session import Session, clamp_to_safe_range
from dpstats.models.linear.rows import JointRows, LinearRows


class LinearSession(Session[LinearRows]):
    """Spends a total on releases from the rows of a linear model.

    Parameters
    ----------
    source : RowSource
        The encoded private table.
    whitening : (d, d) array
        Public matrix applied to every row.
    shift : (d,) array
        Public coefficients whose fit is taken off every response.
    total : Privacy
        What the call may spend.
    noise : Noise
        Secure or seeded.
    joint : bool
        The response is a column of the rows.
    """

    def __init__(
        self,
        source: RowSource,
        whitening: Floats,
        shift: Floats,
        total: Privacy,
        noise: Noise,
        *,
        joint: bool = False,
    ) -> None:
        rows = JointRows if joint else LinearRows
        super().__init__(rows(source, whitening, shift), total, noise)

    def gram(
        self,
        share: float,
        radius: float,
        *,
        what: str = "second moments of the design",
        papers: bool = False,
    ) -> Release:
        """Mean of z z' over the rows cut to ``radius``.

        Sensitivity and the papers' variant: see `Session._moments`.
        """
        cost, radius = self._spend(share), clamp_to_safe_range(radius)
        self._rows.cut(radius)
        total = self._rows.gram()
        return self._moments(what, total, radius, cost, papers=papers)

    def cross(self, share: float, response_clip: float) -> Release:
        """Mean of z y, rows and responses cut separately: |z| <= R, |y| <= B.

        Sensitivity of the sum: two vectors of length at most R B differ by at most 2 R B.
        """
        cost, response_clip = self._spend(share), clamp_to_safe_range(response_clip)
        steps = self._rows.grid.steps
        unit = (self._rows.radius / steps) * (response_clip / steps)
        return self._vector(
            "moments of design and response",
            self._rows.cross(response_clip),
            2.0 * steps**2,
            unit / self.n,
            cost,
        )


CLAIMS = (
    Claim("second moments of the design", GRAM, "sqrt(2) R^2 (papers: 2 R^2)", "Session._moments"),
    Claim("joint moments of design and response", GRAM, "sqrt(2) R^2", "Session._moments"),
    Claim("moments of design and response", PRODUCT, "2 R B", "LinearSession.cross"),
)
