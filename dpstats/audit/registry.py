"""The registry of claims: every release of the package with its lemma, in one table."""

from __future__ import annotations

from tabulate import tabulate

from dpstats.column_search import releases as column_search
from dpstats.margins import releases as margins
from dpstats.mechanism.claims import Claim
from dpstats.models.eptr_bayes import releases as eptr_bayes
from dpstats.models.eptr_linear import releases as eptr_linear
from dpstats.models.eptr_nw import releases as eptr_nw
from dpstats.models.eptr_own import releases as eptr_own
from dpstats.models.gaussian import releases as gaussian
from dpstats.models.linear import releases as linear
from dpstats.models.mixture import releases as mixture
from dpstats.score_rounds import releases as score_rounds

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "dp_lm": (*column_search.CLAIMS, *score_rounds.CLAIMS, *linear.CLAIMS),
    "dp_glm": (*column_search.CLAIMS, *score_rounds.CLAIMS),
    "dp_feols": (*column_search.CLAIMS, *score_rounds.CLAIMS),
    "dp_mean, dp_mvnorm": (*gaussian.CLAIMS, *column_search.CLAIMS),
    "dp_mixture": (*gaussian.CLAIMS, *mixture.CLAIMS),
    "eptr_lm": (
        *column_search.CLAIMS,
        *score_rounds.CLAIMS,
        *eptr_linear.CLAIMS,
    ),
    "eptr_bayes": (*eptr_bayes.CLAIMS, *column_search.CLAIMS),
    "eptr_nw": (*eptr_nw.CLAIMS, *column_search.CLAIMS),
    "eptr": eptr_own.CLAIMS,
    "averages of a fit": (*column_search.CLAIMS, *margins.CLAIMS),
}
"""By the functions that make the releases."""
_TEST = "tests/test_sensitivities.py"


def claims_text() -> str:
    """The lemmas and the releases that rest on each, for a terminal."""
    lemmas = {claim.lemma.name: claim.lemma for claims in CLAIMS.values() for claim in claims}
    lines = ["A row is replaced by another. Each release claims one of these lemmas:", ""]
    for lemma in lemmas.values():
        lines += [f"{lemma.name}", f"  of {lemma.total}", f"  {lemma.moves}", ""]
    for function, claims in CLAIMS.items():
        rows = [(c.release, c.lemma.name, c.sensitivity, c.proof) for c in claims]
        heads = [function, "lemma", "sensitivity", "proof"]
        lines += [tabulate(rows, heads, maxcolwidths=[34, 18, 26, 44]), ""]
    return "\n".join([*lines, f"Tested: {_TEST}, every one of them."])
