"""Data of the ePTR benchmarks: the paper's simulations and its real data sets."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .settings import DATA, Array, Setting

Labels = NDArray[np.str_]
Responses = TypeVar("Responses", Array, Labels)

PUBLIC_ROWS = 200
CENTRE_DISTANCE = 3.0
PRIORS = (0.75, 0.15, 0.10)
NW_NOISE_SD = 0.3

CREDIT_TARGET = "default payment next month"
HOUSING_COLUMNS = ("median_income", "latitude", "longitude", "housing_median_age")
WINE_COLUMNS = ("alcohol", "volatile acidity", "density", "pH")


@dataclass(frozen=True)
class Rows(Generic[Responses]):
    """Covariates, shape (n, d), and responses: shape (n,), numbers or class labels."""

    x: Array
    y: Responses

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Task(Generic[Responses]):
    """One data set to learn from, to help and to be judged on.

    Attributes
    ----------
    names : tuple of str
        Names of the d covariates.
    private, public, test : Rows
        Training rows, rows that are free to use, and rows that measure the result. The test
        responses of a regression simulation are the true function values, without noise.
    """

    names: tuple[str, ...]
    private: Rows[Responses]
    public: Rows[Responses]
    test: Rows[Responses]

    @property
    def formula(self) -> str:
        """The response ``y`` on all covariates."""
        return "y ~ " + " + ".join(self.names)

    def frame(self, rows: Rows[Responses]) -> pd.DataFrame:
        """Rows as a table with the covariates' names and ``y``."""
        table = pd.DataFrame(rows.x, columns=list(self.names))
        table["y"] = rows.y
        return table


# Simulations --------------------------------------------------------------------------------------


def streams(seed: int, count: int) -> list[np.random.Generator]:
    """Independent generators: another number of public rows leaves the private ones as they are."""
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(count)]


def ols_truth(p: int = 5) -> Array:
    """Coefficients of the paper's section 4.3: ``1/j``, scaled to length 1."""
    theta = 1 / np.arange(1.0, p + 1)
    return np.asarray(theta / np.linalg.norm(theta))


def simulated_ols(seed: int, n: int, m: int = PUBLIC_ROWS, p: int = 5) -> Setting:
    """Draw rows of section 4.3: ``x ~ N(0, I)``, ``y = x theta + N(0, 1)``, `ols_truth`."""
    theta = ols_truth(p)

    def rows(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        x = rng.standard_normal((count, p))
        return x, x @ theta + rng.standard_normal(count)

    private, public = streams(seed, 2)
    return Setting(*rows(private, n), *rows(public, m), theta)


def bayes_centres(k: int = 3, p: int = 10) -> Array:
    """Class means of section 3.3, shape (k, p): 3 in a coordinate of their own."""
    return np.asarray(CENTRE_DISTANCE * np.eye(k, p))


def simulated_bayes(
    seed: int, n: int, m: int = PUBLIC_ROWS, test: int = 20_000, priors: tuple[float, ...] = PRIORS
) -> Task[Labels]:
    """Draw rows of section 3.3: classes "k0", "k1", "k2" with `priors`, ``x ~ N(centre, I_10)``.

    Test rows have the same number of each class, so that the balanced error is measured as well
    for rare classes as for frequent ones.
    """
    centres = bayes_centres(len(priors))
    k, p = centres.shape
    names = np.array([f"k{j}" for j in range(k)])

    def rows(rng: np.random.Generator, classes: NDArray[np.int64]) -> Rows[Labels]:
        return Rows(centres[classes] + rng.standard_normal((len(classes), p)), names[classes])

    private, public, other = streams(seed, 3)
    return Task(
        tuple(f"x{j}" for j in range(p)),
        rows(private, private.choice(k, n, p=priors)),
        rows(public, public.choice(k, m, p=priors)),
        rows(other, np.arange(test) % k),
    )


def sine(x: Array) -> Array:
    """The curve of one covariate, shape (n, 1) to (n,)."""
    return np.asarray(np.sin(2 * np.pi * x[:, 0]))


def surface(x: Array) -> Array:
    """The smooth function of two covariates, shape (n, 2) to (n,), range [-1, 1]."""
    return np.asarray(np.sin(2 * np.pi * x[:, 0]) * np.cos(np.pi * x[:, 1]))


def unit_grid(d: int, nodes: int) -> Array:
    """Regular grid on the unit cube, its border included, shape (nodes ** d, d)."""
    axes = np.meshgrid(*[np.linspace(0, 1, nodes)] * d, indexing="ij")
    return np.column_stack([axis.ravel() for axis in axes])


def simulated_nw(seed: int, n: int = 5000, m: int = PUBLIC_ROWS, d: int = 1) -> Task[Array]:
    """Draw rows of a curve (d = 1) or of a surface (d = 2) with uniform covariates, noise sd 0.3.

    Test rows are 51 nodes (d = 1) or 18 x 18 nodes (d = 2) and the true values there: about one
    node for each bandwidth of 0.02 or 0.06.
    """
    truth: Callable[[Array], Array] = sine if d == 1 else surface
    grid = unit_grid(d, 51 if d == 1 else 18)

    def rows(rng: np.random.Generator, count: int) -> Rows[Array]:
        x = rng.random((count, d))
        return Rows(x, truth(x) + NW_NOISE_SD * rng.standard_normal(count))

    private, public = streams(seed, 2)
    names = tuple(f"x{j}" for j in range(d))
    return Task(names, rows(private, n), rows(public, m), Rows(grid, truth(grid)))


# Real data ----------------------------------------------------------------------------------------


def credit(path: str | Path = DATA, *, seed: int = 0, m: int = PUBLIC_ROWS) -> Task[Labels]:
    """Default of credit card clients (Yeh & Lien 2009): 30000 rows, 23 columns, "yes" or "no".

    20 % are training rows and 80 % test rows; see `split`.
    """
    table = pd.read_csv(Path(path) / "credit_default.csv.gz").drop(columns="ID")
    y = np.where(table.pop(CREDIT_TARGET).to_numpy() == 1, "yes", "no")
    return split(table.to_numpy(dtype=np.float64), y, tuple(table.columns), seed, m)


def housing(path: str | Path = DATA, *, seed: int = 0, m: int = PUBLIC_ROWS) -> Task[Array]:
    """California housing (Pace & Barry 1997): 20640 rows, 4 columns, values in 100 000 dollars.

    The paper's predictors: median income, latitude, longitude and age of the houses. 20 % are
    training rows and 80 % test rows; see `split`.
    """
    table = pd.read_csv(Path(path) / "california_housing_statlib.csv.gz")
    x = table[list(HOUSING_COLUMNS)].to_numpy(dtype=np.float64)
    y = table["median_house_value"].to_numpy(dtype=np.float64) / 100_000
    return split(x, y, HOUSING_COLUMNS, seed, m)


def wine(path: str | Path = DATA, *, seed: int = 0, m: int = PUBLIC_ROWS) -> Task[Array]:
    """White wine quality (Cortez et al. 2009): 4898 rows, the paper's 4 columns.

    The paper has red wines too (6497 rows). 20 % are training rows and 80 % test rows; see
    `split`.
    """
    table = pd.read_csv(Path(path) / "wine_white.csv")
    x = table[list(WINE_COLUMNS)].to_numpy(dtype=np.float64)
    names = tuple(name.replace(" ", "_") for name in WINE_COLUMNS)
    return split(x, table["quality"].to_numpy(dtype=np.float64), names, seed, m)


def split(x: Array, y: Responses, names: tuple[str, ...], seed: int, m: int) -> Task[Responses]:
    """Split rows at random: 20 % for training, of which ``m`` are public; the others test.

    Covariates are centred and divided by the mean and the standard deviation of the PUBLIC rows,
    the same for every method and free of private information. A column that is constant there is
    centred only.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    training = len(y) // 5
    public, private, test = order[:m], order[m:training], order[training:]
    spread = np.std(x[public], axis=0)
    x = (x - np.mean(x[public], axis=0)) / np.where(spread > 0, spread, 1.0)
    parts = [Rows(x[part], y[part]) for part in (private, public, test)]
    return Task(names, *parts)
