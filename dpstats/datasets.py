"""Example data that ship with statsmodels, split into a public sample and private rows.

The split is fixed, so that examples and documentation agree. In real use the public sample is
another survey, an earlier wave, or a consented subsample; here it is drawn from the same rows.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

_SEED = 20240501


def _split(frame: pd.DataFrame, share: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    order = np.random.default_rng(_SEED).permutation(len(frame))
    public = np.sort(order[: round(share * len(frame))])
    private = np.sort(order[len(public) :])
    return (
        frame.iloc[public].reset_index(drop=True),
        frame.iloc[private].reset_index(drop=True),
    )


def fair(public_share: float = 0.05) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fair's survey of married women (Redbook, 1974): 6366 rows.

    Columns: rate_marriage (1 to 5), age, yrs_married, children, religious (1 to 4), educ, occupation,
    occupation_husb, affairs.

    Returns
    -------
    public, private : DataFrame

    Examples
    --------
    >>> public, private = fair()
    >>> len(public), len(private)
    (318, 6048)
    """
    from statsmodels.datasets import fair as source

    return _split(source.load_pandas().data, public_share)


def randhie(public_share: float = 0.05) -> tuple[pd.DataFrame, pd.DataFrame]:
    """RAND health insurance experiment: 20190 rows; mdvis is the number of doctor visits.

    Columns: mdvis, lncoins, idp, lpi, fmde, physlm, disea, hlthg, hlthf, hlthp.

    Returns
    -------
    public, private : DataFrame

    Examples
    --------
    >>> public, private = randhie()
    >>> len(public), len(private)
    (1010, 19180)
    """
    from statsmodels.datasets import randhie as source

    return _split(source.load_pandas().data, public_share)
