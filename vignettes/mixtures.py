# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Means, covariances and clusters
#
# How to describe private rows by a mean, a covariance matrix or a few clusters, with a handful of
# public rows and no ranges: one row for a mean, twice as many as columns for a covariance matrix,
# some tens for clusters. This page shows
#
# 1. `dp_mean`, `dp_mvnorm` and `dp_mixture`, with pictures;
# 2. that units, location and shape do not matter, and the number of public rows hardly;
# 3. what a public sample from another population does;
# 4. how `dp_mixture` finds clusters, and what happens when they are too close;
# 5. synthetic rows, which cost nothing more.
#
# Calls have `seed=` so that the page says the same whenever it is built; a release has none, for
# whoever knows the seed can take the noise off. All rows on this page are made up, so that the truth is known.

# %%
import textwrap
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dpstats import dp_lm, dp_mean, dp_mixture, dp_mvnorm
from dpstats.errors import PlanWarning

pd.set_option("display.width", 100)
pd.set_option("display.max_columns", 12)
warnings.simplefilter("ignore", PlanWarning)  # the notes of a result repeat them
MEAN = np.array([170.0, 65.0])
COVARIANCE = np.array([[60.0, 50.0], [50.0, 120.0]])
COLUMNS = ["height", "weight"]


def people(
    rows: int, seed: int, mean: Any = MEAN, covariance: Any = COVARIANCE
) -> pd.DataFrame:
    x = np.random.default_rng(seed).multivariate_normal(mean, covariance, rows)
    return pd.DataFrame(x, columns=COLUMNS)


private = people(5_000, 1)

# %% [markdown]
# ## A mean, from one public row
#
# To make noise for a mean, something must bound how far out a row can be. Usually the analyst does:
# "between 0 and 300". Here one public row and standard deviations do. Rows are cut around the
# public row; the first, rough answer becomes the centre of a second, tighter cut.

# %%
one = people(1, 2)
one

# %%
dp_mean(COLUMNS, private, public=one, covariance=[8, 11], rho=0.1, seed=1)

# %% [markdown]
# With more public rows the standard deviations may be left out: three or more give them, and twice
# as many as columns, and two more, a whole covariance.
#
# ## A covariance matrix, from four public rows
#
# `dp_mvnorm` needs no ranges either. Public rows give coordinates in which private rows look round,
# more or less; private rounds mend these coordinates; the last round releases mean and second
# moments together.

# %%
few = people(4, 3)
fit = dp_mvnorm("~ height + weight", private, public=few, rho=0.1, seed=1)
fit.summary()

# %% [markdown]
# The picture has the ellipse that holds 95 % of the released Gaussian, the four public rows, the
# true ellipse, and the one that the four public rows alone would give.


# %%
# alt: Height and weight: the ellipse of the released Gaussian lies on the true one; that of the
# four public rows alone is steeper and reaches farther.
def ellipse(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Points of the ellipse that holds 95 % of a Gaussian in the plane."""
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.sqrt(-2 * np.log(0.05)) * np.stack([np.cos(angle), np.sin(angle)])
    return mean[:, None] + np.linalg.cholesky(covariance) @ circle


ax = fit.plot()
ax.plot(*ellipse(MEAN, COVARIANCE), "k--", linewidth=1, label="truth")
alone = ellipse(few.mean().to_numpy(), few.cov().to_numpy())
ax.plot(*alone, ":", color="#444444", label="public rows alone")
_ = ax.legend(frameon=False, fontsize="small")

# %% [markdown]
# How many public rows? The error is that of the covariance relative to the truth: 0.1 means that
# variances in all directions are off by about 10 % together. Even two rows, which have no shape,
# will do here: the private rounds find it. (Notes on too few public rows are also issued as warnings,
# before any private row is read; this page shows the notes.)


# %%
def off(covariance: np.ndarray) -> float:
    """Relative error: the length of whitened covariance minus identity."""
    inverse = np.linalg.inv(np.linalg.cholesky(COVARIANCE))
    return float(np.linalg.norm(inverse @ covariance @ inverse.T - np.eye(2)))


lines = []
for rows in (2, 3, 4, 10, 40):
    public = people(rows, 3)
    found = dp_mvnorm("~ height + weight", private, public=public, rho=0.1, seed=1)
    lines.append(
        {
            "public rows": rows,
            "error": off(found.cov.to_numpy()),
            "bound, after": found.bounds()["value"][0],
            "bound, planned": found.bounds()["value"][3],
            "public alone": off(public.cov().to_numpy()),
            "no privacy": off(private.cov().to_numpy()),
        }
    )
    for note in found.notes:
        print(textwrap.fill(note, 88))
pd.DataFrame(lines).set_index("public rows").round(3)

# %% [markdown]
# The planned bound is known before the private rows are read. The one after the release is
# computed from released numbers, and costs nothing.
#
# ## No ranges
#
# The same people in other units, far from the origin, and squeezed into a needle: the error stays,
# because every step follows the rows.

# %%
needle = np.array([[0.8, -0.6], [0.6, 0.8]]) @ np.diag([1.0, 1e-4])
for name, map_, move in (
    ("as they are", np.eye(2), np.zeros(2)),
    ("height in km, weight in mg", np.diag([1e-5, 1e6]), np.zeros(2)),
    ("moved by 10^9", np.eye(2), np.full(2, 1e9)),
    ("a needle", needle, np.zeros(2)),
):
    mapped = [
        pd.DataFrame(t.to_numpy() @ map_.T + move, columns=COLUMNS)
        for t in (private, few)
    ]
    found = dp_mvnorm("~ height + weight", mapped[0], public=mapped[1], rho=0.1, seed=1)
    back = np.linalg.inv(map_)
    print(
        f"{name:28s}condition {found.condition:8.2g}   "
        f"error {off(back @ found.cov.to_numpy() @ back.T):.3f}"
    )

# %% [markdown]
# ## Public rows of another population
#
# The guarantee holds whatever the public rows are. Accuracy holds as long as the private rounds can
# find their way back. `gamma=` is how far off the public population may be (in total variation
# distance, from 0 to 1), and so how many rounds to plan for. Here public rows are far out, a
# hundred times too wide in one variance, and a hundred times too narrow in the other.

# %%
# alt: Two panels, gamma = 0 and gamma = 0.99, each with the released ellipse, the true one and
# the public rows, which lie far above both.
strange = people(20, 5, mean=[230, 145], covariance=[[6000.0, 5.0], [5.0, 1.2]])
figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for panel, gamma in zip(panels, (0.0, 0.99), strict=True):
    found = dp_mvnorm(
        "~ height + weight", private, public=strange, rho=0.1, gamma=gamma, seed=1
    )
    rounds = int(found.diagnostics()["value"]["rounds"])
    print(
        f"gamma = {gamma:g}: rounds of mending {rounds}, error {off(found.cov.to_numpy()):.3f}"
    )
    for note in found.notes:
        print(textwrap.indent(textwrap.fill(note, 90), "    "))
    found.plot(ax=panel)
    panel.plot(*ellipse(MEAN, COVARIANCE), "k--", linewidth=1, label="truth")
    panel.set_title(f"gamma = {gamma:g}")
    panel.legend(frameon=False, fontsize="small")

# %% [markdown]
# Without `gamma` too few rounds are planned for so odd a sample, and the result says so: what is not
# resolved is noted, from released numbers. With it there are more rounds, and the odd sample does
# no harm. When in doubt, take `gamma=0.99`: on a good sample it costs
# hardly anything:

# %%
for gamma in (0.0, 0.99):
    found = dp_mvnorm(
        "~ height + weight", private, public=few, rho=0.1, gamma=gamma, seed=1
    )
    print(f"a good sample, gamma = {gamma:g}: bound {found.bounds()['value'][0]:.3f}")

# %% [markdown]
# ## Clusters
#
# `dp_mixture` estimates weight, mean and covariance of all components by one mechanism: ten clusters
# cost no more privacy than one. What decides is how the components are found.
#
# - Regime "likelihood": a mixture found in public rows, at least 2 (d + 1) of them for each of k
#   components (d columns), is refined by a few private steps of EM. Components may overlap. Where k is
#   not given, one release of clipped log-likelihoods chooses it by BIC.
# - Regime "public": rows are sorted into cells, one for each component, by public rows alone, where
#   there are about 1.5 d / w_min of them (w_min the least weight of a component, by default half of
#   1/k). The whole budget is left for the estimates.
# - Regime "private": cells from fewer public rows, which only propose where components may be. Private
#   principal axes show where to look, and private counts between two proposed centres decide: a
#   valley means two components. Up to 30 % of the budget.
#
# `regime="auto"` counts public rows, and takes the first that it can. `k` may be left out: with some
# public rows likelihoods decide, with few of them valleys between private rows, up to ten components.

# %%
CENTRES = np.array([[0.0, 0.0], [6.0, 1.2], [2.1, 6.6]])
WEIGHTS = np.array([0.5, 0.3, 0.2])


def clouds(rows: int, seed: int, spread: float = 1.0) -> pd.DataFrame:
    """Three round groups, at least six standard deviations apart at spread 1."""
    rng = np.random.default_rng(seed)
    centre = spread * CENTRES[rng.choice(3, p=WEIGHTS, size=rows)]
    return pd.DataFrame(centre + rng.normal(size=(rows, 2)), columns=["x1", "x2"])


private = clouds(10_000, 1)
lines, results = [], {}
for rows, k in ((200, 3), (40, 3), (12, 3), (200, None), (80, None), (40, None)):
    found = dp_mixture(
        ["x1", "x2"], private, public=clouds(rows, 2), k=k, rho=0.2, seed=1
    )
    results[rows, k] = found
    lines.append(
        {"public rows": rows, "k": k or "", "regime": found.regime, "found": found.k}
    )
pd.DataFrame(lines).set_index("public rows")

# %%
groups = results[40, None]
groups

# %%
# alt: Three clusters with their released ellipses and crosses at the true means; in both panels
# each ellipse surrounds a cross.
figure, panels = plt.subplots(
    1, 2, figsize=(10, 4.2), layout="constrained", sharey=True
)
for panel, (rows, k) in zip(panels, ((200, 3), (40, None)), strict=True):
    found = results[rows, k]
    found.plot(ax=panel)
    panel.plot(*CENTRES.T, "kx", label="true means")
    panel.set_title(f'{rows} public rows, k = {k}: regime "{found.regime}"')
    panel.legend(frameon=False, fontsize="small")

# %% [markdown]
# A dozen public rows may hide a group.

# %% [markdown]
# All regimes on fifty public rows, with what each has spent on what:

# %%
spent = {}
for regime in ("likelihood", "public", "private"):
    found = dp_mixture(
        ["x1", "x2"], private, public=clouds(50, 2), k=3, rho=0.2, regime=regime, seed=1
    )
    largest = np.abs(found.means.to_numpy() - CENTRES).max()
    print(f'regime "{regime}": largest error of a mean {largest:.3f}')
    spent[regime] = found.privacy.mechanisms.set_index("released").round(3)
pd.concat(spent, names=["regime"])

# %% [markdown]
# ### Too close, too few
#
# Cells need components that are about four standard deviations apart. Sorting rows into cells cuts
# overlapping components, and this is taken off by simulation from the released mixture; where there
# is too much of it, a note says so. So it does where a component was not detected: `complete` is then
# False. Private EM is for such components.

# %%
for spread, rows, regime in (
    (1, 300, "public"),
    (0.5, 300, "likelihood"),
    (0.5, 300, "public"),
    (0.5, 60, "private"),
):
    found = dp_mixture(
        ["x1", "x2"],
        clouds(10_000, 1, spread),
        public=clouds(rows, 2, spread),
        k=3,
        rho=0.2,
        regime=regime,
        seed=1,
    )
    print(f"spread {spread:g}, {rows} public rows, regime {regime}:")
    print(f"    {found.k} components, complete: {found.complete}")
    for note in found.notes:
        print(textwrap.indent(textwrap.fill(note, 90), "    "))

# %% [markdown]
# The bounds of a mixture hold where hardly a row is in another component's cell. Whether that is so
# follows from the released numbers, and is among the premises:

# %%
groups.bounds().set_index("statement").drop(columns="norm").round(3)

# %% [markdown]
# ## What a release is good for
#
# Everything below is computed from the release, and costs nothing.
#
# *Rows that you may show* get their components, or the odds of each:

# %%
shown = clouds(4, 9)
shown.join(groups.predict(shown, type="prob").round(3))

# %% [markdown]
# *Synthetic rows* look like the private ones as far as a mixture of Gaussians can tell; no row
# stands behind any of them. Try formulas and plots on them before you spend a budget on the rows.

# %%
# alt: Eighty public rows on the left; 2000 synthetic rows on the right, in the same three clouds.
synthetic = groups.sample(2_000, seed=1)
figure, panels = plt.subplots(
    1, 2, figsize=(9, 4.2), layout="constrained", sharex=True, sharey=True
)
panels[0].scatter(*clouds(80, 2).to_numpy().T, s=6, color="#444444")
panels[0].set_title("80 public rows")
panels[1].scatter(
    synthetic["x1"], synthetic["x2"], s=4, c=synthetic["component"], cmap="viridis"
)
panels[1].set_title("2000 synthetic rows, by component")
for panel in panels:
    panel.set_xlabel("x1")
    panel.set_ylabel("x2")
    panel.spines[["top", "right"]].set_visible(False)
synthetic.groupby("component").agg(["mean", "std"]).round(2)

# %% [markdown]
# *A regression* may start from a released Gaussian, in place of public rows: `to_moments` says what
# it has cost, and both totals count.

# %%
again = people(5_000, 1)
start = fit.to_moments("weight ~ height")
line = dp_lm("weight ~ height", again, public=start, mu=0.5, seed=1)
line

# %%
print(f"true slope: {COVARIANCE[0, 1] / COVARIANCE[0, 0]:.4f}")

# %% [markdown]
# *Pure differential privacy*: with `epsilon=` alone, `dp_mean` and `dp_mvnorm` draw noise that is
# spherical in the space of matrices. It grows with the cube of the columns; take ten or fewer.

# %%
pure = dp_mvnorm("~ height + weight", people(5_000, 1), public=few, epsilon=0.5, seed=1)
print(f"error {off(pure.cov.to_numpy()):.3f}")
pure.privacy

# %% [markdown]
# ## How the promise was tested
#
# An audit runs a release on two data sets that differ in one row, as many times as it takes, and
# tries to distinguish them (`vignettes/guarantee.py` explains it). The figures below were made by
# `python -m tests.benchmarks.privacy_audit --out vignettes/guarantee_audit.csv`: of all pairs of
# each function and method the worst, the lower bound at 99 %, and the claim.

# %%
here = Path(__file__).parent if "__file__" in globals() else Path()
audits = pd.read_csv(here / "guarantee_audit.csv")
audits = audits[audits["function"].isin(["dp_mean", "dp_mvnorm", "dp_mixture"])]
worst = audits.loc[audits.groupby(["function", "method"])["fraction"].idxmax()]
table = worst[
    ["function", "method", "pair", "unit", "claim", "found", "trials", "refuted"]
]
table.set_index("function").round(3)
