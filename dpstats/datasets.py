"""Example data that ship with statsmodels, split into a public sample and private rows.

>>> from dpstats.datasets import fair, randhie

`fair` is a survey of 6366 married women, `randhie` a health insurance experiment with 20190 rows;
``help(fair)`` describes the columns.

The split is fixed, so that examples and documentation agree. In real use the public sample is
another survey, an earlier wave, or a consented subsample; here it is drawn from the same rows.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpstats.arguments import number, shown
from dpstats.errors import ArgumentError

__all__ = ["fair", "randhie"]

_SEED = 20240501


def _split(frame: pd.DataFrame, share: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    part = number(share)
    if part is None or not 0 < part < 1:
        raise ArgumentError(f"public_share must lie strictly between 0 and 1, not {shown(share)}.")
    order = np.random.default_rng(_SEED).permutation(len(frame))
    public = np.sort(order[: round(part * len(frame))])
    private = np.sort(order[len(public) :])
    return (
        frame.iloc[public].reset_index(drop=True),
        frame.iloc[private].reset_index(drop=True),
    )


def fair(public_share: float = 0.05) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fair's survey of married women about marriage and affairs (Redbook, 1974): 6366 rows.

    Parameters
    ----------
    public_share : float
        Share of the rows that are public.

    Returns
    -------
    public, private : DataFrame
        All columns are numbers:

        =============== ==========================================================================
        rate_marriage   how she rates her marriage, 1 (very poor) to 5 (very good)
        age             in years, middle of a group: 17.5 (under 20) to 42
        yrs_married     years married, middle of a group: 0.5 to 23
        children        number of children, 5.5 for more than five
        religious       how religious she is, 1 (not) to 4 (strongly)
        educ            years of education, 9 to 20
        occupation      1 student, 2 farming and unskilled, 3 white collar, 4 teaching and nursing,
                        5 managerial, 6 professional
        occupation_husb her husband's, coded alike
        affairs         time spent in extramarital affairs, 0 for none
        =============== ==========================================================================

    Raises
    ------
    ArgumentError
        If ``public_share`` is not a share.

    See Also
    --------
    randhie : Counts.

    Notes
    -----
    Ray Fair (1978): *A Theory of Extramarital Affairs*, Journal of Political Economy 86, 45-61.
    ``statsmodels.datasets.fair`` has the original.

    References
    ----------
    Fair (1978), "A Theory of Extramarital Affairs", Journal of Political Economy 86.

    Examples
    --------
    >>> public, private = fair()
    >>> len(public), len(private)
    (318, 6048)
    """
    from statsmodels.datasets import fair as source

    return _split(source.load_pandas().data, public_share)


def randhie(public_share: float = 0.05) -> tuple[pd.DataFrame, pd.DataFrame]:
    """RAND health insurance experiment, visits to a doctor in a year: 20190 rows.

    Parameters
    ----------
    public_share : float
        Share of the rows that are public.

    Returns
    -------
    public, private : DataFrame
        All columns are numbers:

        ======= =================================================================================
        mdvis   outpatient visits to a doctor
        lncoins log(coinsurance rate + 1), from 0 to 100
        idp     1 if the plan has individual deductibles
        lpi     log of the annual participation incentive, 0 if there is none
        fmde    log of the maximum expenditure per coinsurance, 0 if there is none
        physlm  1 if there is a physical limitation
        disea   number of chronic diseases
        hlthg   1 if self-rated health is good (the level left out is excellent)
        hlthf   1 if it is fair
        hlthp   1 if it is poor
        ======= =================================================================================

    Raises
    ------
    ArgumentError
        If ``public_share`` is not a share.

    See Also
    --------
    fair : A survey.

    Notes
    -----
    Cameron and Trivedi (2005): *Microeconometrics*, chapter 20. ``statsmodels.datasets.randhie`` has
    the original.

    References
    ----------
    Newhouse (1993), "Free for All? Lessons from the RAND Health Insurance Experiment", Harvard.

    Examples
    --------
    >>> public, private = randhie()
    >>> len(public), len(private)
    (1010, 19180)
    """
    from statsmodels.datasets import randhie as source

    return _split(source.load_pandas().data, public_share)
