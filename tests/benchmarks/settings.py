"""Data of the linear benchmarks: the papers' simulation and their two real data sets."""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
"""Default folder of the real data: ``../shared/data`` seen from the project root."""

DIMENSION = 10
NOISE_SD = 0.05
CORRELATION = 0.7
MEAN = 1.328


@dataclass(frozen=True)
class Setting:
    """One data set of a benchmark.

    Attributes
    ----------
    x : array, shape (n, d)
        Private design.
    y : array, shape (n,)
        Private response.
    public_x : array, shape (m, d)
        Public design.
    public_y : array, shape (m,)
        Public response.
    beta : array, shape (d,)
        What estimates are compared with: the true coefficients of a simulation, or the
        least-squares coefficients of the private rows of a real data set.
    """

    x: Array
    y: Array
    public_x: Array
    public_y: Array
    beta: Array


def population() -> tuple[Array, Array]:
    """Mean and covariance of the simulated design, shapes (10,) and (10, 10).

    The papers state only the dimension, the smallest eigenvalue and the average condition number
    of ``Psi + mu mu'`` (0.17 and 15.32, estimated on their private sample). Here ``Psi`` is the
    correlation matrix ``0.7 ** |i - j|`` and every entry of ``mu`` is 1.328: the smallest
    eigenvalue is 0.1806, the average condition number (mean over smallest eigenvalue) 15.30 and
    the condition number 121. The mean does not touch the smallest eigenvalue, because the
    alternating eigenvector that belongs to it is orthogonal to a constant vector.
    """
    index = np.arange(DIMENSION)
    covariance = CORRELATION ** np.abs(np.subtract.outer(index, index)).astype(np.float64)
    return np.full(DIMENSION, MEAN), covariance


def simulated(seed: int, n: int, m: int, shifted: bool = False) -> Setting:
    """Draw ``n`` private and ``m`` public rows of the papers' linear model.

    ``x ~ N(mu, Psi)`` (see `population`), ``beta ~ N(0, I)``, ``y = x beta + N(0, 0.05^2)``.
    Coefficients, private and public rows come from separate streams of ``seed``: another ``m`` or
    ``shifted`` leaves the private rows as they are.

    Parameters
    ----------
    seed : int
        Seed of all draws.
    n, m : int
        Number of private and of public rows.
    shifted : bool
        Public rows of another population: coefficients ``beta + 0.3 N(0, I)``, covariates
        multiplied by 1.3.
    """
    mean, covariance = population()
    root = np.linalg.cholesky(covariance)
    streams = np.random.SeedSequence(seed).spawn(4)
    for_beta, for_private, for_public, for_shift = (np.random.default_rng(s) for s in streams)
    beta = for_beta.standard_normal(DIMENSION)

    def rows(
        rng: np.random.Generator, count: int, coefficients: Array, scale: float
    ) -> tuple[Array, Array]:
        x = scale * (mean + rng.standard_normal((count, DIMENSION)) @ root.T)
        return x, x @ coefficients + NOISE_SD * rng.standard_normal(count)

    x, y = rows(for_private, n, beta, 1.0)
    if shifted:
        public_beta = beta + 0.3 * for_shift.standard_normal(DIMENSION)
        public_x, public_y = rows(for_public, m, public_beta, 1.3)
    else:
        public_x, public_y = rows(for_public, m, beta, 1.0)
    return Setting(x, y, public_x, public_y, beta)


def wine(path: str | Path = DATA, *, seed: int = 0, m: int = 245) -> Setting:
    """White wine quality (Cortez et al. 2009): 4898 rows, 11 columns, target ``quality``.

    See `real` for the scaling and the split; ``m = 245`` public rows leave 4653 private ones.
    """
    return real(Path(path) / "wine_white.csv", "quality", seed, m)


def power_plant(path: str | Path = DATA, *, seed: int = 0, m: int = 192) -> Setting:
    """Combined cycle power plant (Tufekci 2014): 9568 rows, 4 columns, target ``PE``.

    See `real` for the scaling and the split; ``m = 192`` public rows leave 9376 private ones.
    """
    return real(Path(path) / "power_plant.csv", "PE", seed, m)


def real(file: Path, target: str, seed: int, m: int) -> Setting:
    """Read a csv file and split its rows at random into ``m`` public and the remaining private.

    Columns are divided by their root mean square over the whole file (taken as a public unit of
    measurement, the same for every competitor); the response is not scaled; no intercept.
    ``beta`` is the least-squares fit of the private rows.
    """
    frame = pd.read_csv(file)
    y = frame[target].to_numpy(dtype=np.float64)
    x = frame.drop(columns=target).to_numpy(dtype=np.float64)
    x = x / np.sqrt(np.mean(x**2, axis=0))
    order = np.random.default_rng(seed).permutation(len(y))
    public, private = order[:m], order[m:]
    beta: Array = np.linalg.lstsq(x[private], y[private])[0]
    return Setting(x[private], y[private], x[public], y[public], beta)


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--data``, the folder of the real data, to the options of a benchmark script."""
    parser.add_argument(
        "--data",
        type=Path,
        default=DATA,
        help="folder of wine_white.csv and power_plant.csv (default: ../shared/data, seen from "
        "the project root)",
    )
