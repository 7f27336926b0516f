"""Data of the benchmarks: the papers' simulations and real data sets."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy.special import expit

from . import competitors

Array = NDArray[np.float64]

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
"""Default folder of the real data: ``../shared/data`` seen from the project root."""

DIMENSION = 10
NOISE_SD = 0.05
CORRELATION = 0.7
MEAN = 1.328

GLM_CORRELATION = 0.9
GLM_COEFFICIENTS = {"binomial": 0.5, "poisson": 0.2, "gamma": 0.2}
"""Standard deviation of the coefficients of `simulated_glm`; 0.2 keeps the log links tame."""
GAMMA_SHAPE = 2.0


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
        least-squares or maximum likelihood coefficients of the private rows of a real data set.
    """

    x: Array
    y: Array
    public_x: Array
    public_y: Array
    beta: Array


# A setting as the package wants it ----------------------------------------------------------------


def frame(x: Array, y: Array) -> pd.DataFrame:
    """Rows as a table with columns x0, x1, ... and y."""
    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    table["y"] = y
    return table


def formula_of(x: Array) -> str:
    """All columns, no intercept, as in the papers."""
    return "y ~ 0 + " + " + ".join(f"x{j}" for j in range(x.shape[1]))


def distance(coef: Array, truth: Array) -> float:
    """Euclidean distance."""
    return float(np.linalg.norm(np.asarray(coef) - truth))


# Simulations --------------------------------------------------------------------------------------


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


def glm_population(d: int = 8) -> Array:
    """Second moment of the rows of `simulated_glm`, shape (d, d).

    ``x = (1, z_1, ..., z_{d-1})`` with ``z ~ N(0, Psi)``, ``Psi = 0.9 ** |i - j|``; the constant
    is uncorrelated with the rest. At ``d = 8`` the eigenvalues are 0.0553, 0.0646, 0.0852, 0.132,
    0.260, 0.806, 1 and 5.60: the average condition number (mean over smallest eigenvalue, the
    mean being 1) is 18.1 and the condition number 101. The papers' logistic simulation states
    only ``d = 8`` and that rows and coefficients are made as in their linear one.
    """
    index = np.arange(d)
    moment = GLM_CORRELATION ** np.abs(np.subtract.outer(index, index)).astype(np.float64)
    moment[0, 1:] = moment[1:, 0] = 0.0
    return moment


def glm_response(linear: Array, family: str, rng: np.random.Generator) -> Array:
    """Draw responses: logistic, Poisson with log link, or gamma with log link and shape 2."""
    if family == "binomial":
        return (rng.random(len(linear)) < expit(linear)).astype(np.float64)
    mean = np.exp(linear)
    if family == "poisson":
        return rng.poisson(mean).astype(np.float64)
    if family == "gamma":
        return rng.gamma(GAMMA_SHAPE, mean / GAMMA_SHAPE)
    raise ValueError(f"no family {family}")


def simulated_glm(
    seed: int, n: int, m: int, family: str, d: int = 8, shifted: bool = False
) -> Setting:
    """Draw ``n`` private and ``m`` public rows of a generalised linear model.

    Rows as in `glm_population`, ``beta ~ N(0, s^2 I)`` with ``s`` 0.5 for "binomial" and
    0.4 times that for "poisson" and "gamma", responses as in `glm_response`. Streams are separate
    as in `simulated`: another ``m`` or ``shifted`` leaves the private rows as they are.

    Parameters
    ----------
    seed : int
        Seed of all draws.
    n, m : int
        Number of private and of public rows.
    family : {"binomial", "poisson", "gamma"}
        Family of the responses.
    d : int
        Number of coefficients, the constant's included.
    shifted : bool
        Public rows of another population: coefficients ``beta + 0.3 N(0, I)``, covariates (not
        the constant) multiplied by 1.3.
    """
    root = np.linalg.cholesky(glm_population(d)[1:, 1:])
    streams = np.random.SeedSequence(seed).spawn(4)
    for_beta, for_private, for_public, for_shift = (np.random.default_rng(s) for s in streams)
    beta = GLM_COEFFICIENTS[family] * for_beta.standard_normal(d)

    def rows(
        rng: np.random.Generator, count: int, coefficients: Array, scale: float
    ) -> tuple[Array, Array]:
        covariates = scale * rng.standard_normal((count, d - 1)) @ root.T
        x = np.column_stack([np.ones(count), covariates])
        return x, glm_response(x @ coefficients, family, rng)

    x, y = rows(for_private, n, beta, 1.0)
    if shifted:
        public_beta = beta + 0.3 * for_shift.standard_normal(d)
        public_x, public_y = rows(for_public, m, public_beta, 1.3)
    else:
        public_x, public_y = rows(for_public, m, beta, 1.0)
    return Setting(x, y, public_x, public_y, beta)


def simulated_logistic(seed: int, n: int, m: int, centred: bool = False, d: int = 8) -> Setting:
    """Draw rows of the papers' logistic simulation: rows and coefficients as in their linear one.

    ``x ~ N(mean, 0.7 ** |i - j|)`` without a constant, ``beta ~ N(0, I)``; every mean is that of
    `population`, or 0 if ``centred``. The papers state ``d = 8`` and no more. With the mean, one
    outcome is often rare (below 10 % in a third of the draws) and linear predictors are large.
    """
    index = np.arange(d)
    covariance = CORRELATION ** np.abs(np.subtract.outer(index, index)).astype(np.float64)
    root = np.linalg.cholesky(covariance)
    streams = np.random.SeedSequence(seed).spawn(3)
    for_beta, for_private, for_public = (np.random.default_rng(s) for s in streams)
    beta = for_beta.standard_normal(d)

    def rows(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        x = (0.0 if centred else MEAN) + rng.standard_normal((count, d)) @ root.T
        return x, glm_response(x @ beta, "binomial", rng)

    return Setting(*rows(for_private, n), *rows(for_public, m), beta)


def rare(seed: int, n: int, m: int, base: float, level: float) -> Setting:
    """Logistic rows (1, z, b): z normal, b 1 in a share ``level`` of the rows; log odds ``base``.

    Coefficients are (base, 0.5, -0.4): with ``base`` -4.3 the outcome has 1.3 %.
    """
    beta = np.array([base, 0.5, -0.4])

    def rows(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        sparse = (rng.random(count) < level).astype(np.float64)
        x = np.column_stack([np.ones(count), rng.standard_normal(count), sparse])
        return x, glm_response(x @ beta, "binomial", rng)

    private, public = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    return Setting(*rows(private, n), *rows(public, m), beta)


# Real data ----------------------------------------------------------------------------------------


def wine(path: str | Path = DATA, *, seed: int = 0, m: int = 245) -> Setting:
    """White wine quality (Cortez et al. 2009): 4898 rows, 11 columns, target ``quality``.

    Scaled as in `split`; ``m = 245`` public rows leave 4653 private ones.
    """
    return real(Path(path) / "wine_white.csv", "quality", seed, m)


def power_plant(path: str | Path = DATA, *, seed: int = 0, m: int = 192) -> Setting:
    """Combined cycle power plant (Tufekci 2014): 9568 rows, 4 columns, target ``PE``.

    Scaled as in `split`; ``m = 192`` public rows leave 9376 private ones.
    """
    return real(Path(path) / "power_plant.csv", "PE", seed, m)


def real(file: Path, target: str, seed: int, m: int) -> Setting:
    """Read a csv file for least squares without an intercept; see `split`."""
    table = pd.read_csv(file)
    y = table[target].to_numpy(dtype=np.float64)
    x = table.drop(columns=target).to_numpy(dtype=np.float64)
    return split(x, y, seed, m, competitors.ols)


def split(x: Array, y: Array, seed: int, m: int, fit: Callable[[Array, Array], Array]) -> Setting:
    """Split rows at random into ``m`` public and the remaining private ones.

    Columns are divided by their root mean square over all rows (taken as a public unit of
    measurement, the same for every competitor); the response is not scaled. ``beta`` is the
    ``fit`` of the private rows.
    """
    x = x / np.sqrt(np.mean(x**2, axis=0))
    order = np.random.default_rng(seed).permutation(len(y))
    public, private = order[:m], order[m:]
    return Setting(x[private], y[private], x[public], y[public], fit(x[private], y[private]))


def with_constant(x: Array) -> Array:
    """A column of ones in front of the others."""
    return np.column_stack([np.ones(len(x)), x])


def bank(path: str | Path = DATA, seed: int = 0, dummies: bool = True) -> Setting:
    """Bank Marketing (Moro et al. 2011): 45211 rows, 16 columns, does a client subscribe?

    With ``dummies`` every text column becomes indicators of all levels but the first (43 columns
    with the constant); without, the number of its level in alphabetical order (17 columns). 10 %
    of the rows are public, 4521 of them; scaling as in `split`. ``beta`` is the logistic maximum
    likelihood fit of the private rows.
    """
    table = pd.read_csv(Path(path) / "bank_full.csv.gz")
    y = (table.pop("y") == "yes").to_numpy(dtype=np.float64)
    text = list(table.select_dtypes(exclude="number").columns)
    if dummies:
        table = pd.get_dummies(table, columns=text, drop_first=True)
    else:
        for name in text:
            table[name] = pd.Categorical(table[name]).codes
    x = with_constant(table.to_numpy(dtype=np.float64))
    m = round(0.1 * len(y))
    return split(x, y, seed, m, lambda x, y: competitors.glm_fit(x, y, "binomial").coef)


def randhie(seed: int = 0) -> Setting:
    """RAND health insurance experiment, from statsmodels: 20190 rows, 9 columns and a constant.

    The response is ``mdvis``, the number of outpatient visits (mean 2.86, variance 20.3: far
    from a Poisson distribution, so errors are measured in quasi-Poisson units). 5 % of the rows
    are public, 1010 of them; scaling as in `split`. ``beta`` is the Poisson maximum likelihood
    fit of the private rows.
    """
    table = sm.datasets.randhie.load_pandas().data
    y = table["mdvis"].to_numpy(dtype=np.float64)
    x = with_constant(table.drop(columns="mdvis").to_numpy(dtype=np.float64))
    m = round(0.05 * len(y))
    return split(x, y, seed, m, lambda x, y: competitors.glm_fit(x, y, "poisson").coef)


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--data``, the folder of the real data, to the options of a benchmark script."""
    parser.add_argument(
        "--data",
        type=Path,
        default=DATA,
        help="folder of wine_white.csv, power_plant.csv and bank_full.csv.gz (default: "
        "../shared/data, seen from the project root)",
    )
