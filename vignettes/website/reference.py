"""What the reference has: a page for every public function and class, grouped by task."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Entries of one task: a heading, a sentence, and full names."""

    title: str
    lead: str
    names: tuple[str, ...]


GROUPS = (
    Group(
        "Fit a model",
        "A formula, private rows, and what the call may spend.",
        (
            "dpstats.dp_lm",
            "dpstats.dp_glm",
            "dpstats.dp_feols",
            "dpstats.dp_mean",
            "dpstats.dp_mvnorm",
            "dpstats.dp_mixture",
        ),
    ),
    Group(
        "Noise for the data at hand",
        "Propose-Test-Release: estimators that are stable on ordinary data.",
        (
            "dpstats.eptr_lm",
            "dpstats.eptr_bayes",
            "dpstats.eptr_nw",
            "dpstats.eptr",
            "dpstats.check_safety",
        ),
    ),
    Group(
        "Plan before you spend",
        "Standard errors to expect, from public rows alone.",
        (
            "dpstats.plan_lm",
            "dpstats.plan_glm",
            "dpstats.plan_feols",
            "dpstats.plans.result.Plan",
        ),
    ),
    Group(
        "Public data",
        "What may be known of the columns without looking at private rows.",
        (
            "dpstats.public_moments",
            "dpstats.frame.public_moments.PublicMoments",
            "dpstats.datasets.fair",
            "dpstats.datasets.randhie",
        ),
    ),
    Group(
        "Privacy and budgets",
        "What a call costs, and who keeps the books.",
        (
            "dpstats.report.privacy.PrivacyStatement",
            "dpstats.report.privacy.Spent",
            "dpstats.report.privacy.SpentKind",
            "dpstats.Budget",
            "dpstats.budget.page.Entry",
            "dpstats.accounting.privacy.Privacy",
            "dpstats.accounting.privacy.PurePrivacy",
            "dpstats.accounting.privacy.ApproximatePrivacy",
            "dpstats.accounting.composition.Composed",
        ),
    ),
    Group(
        "Tables and tests",
        "After the fit; these spend nothing.",
        (
            "dpstats.etable",
            "dpstats.anova",
            "dpstats.options",
            "dpstats.report.table.Page",
            "dpstats.score_rounds.wald_tests.Anova",
            "dpstats.score_rounds.wald_tests.TermTests",
            "dpstats.score_rounds.path.BestPenalty",
            "dpstats.margins.new_rows.Margins",
            "dpstats.margins.averages.PrivateMargins",
            "dpstats.margins.emmeans.MarginalMeans",
            "dpstats.margins.emmeans.Contrasts",
            "dpstats.score_rounds.path.Path",
        ),
    ),
    Group(
        "What fits return",
        "Made by calls, not by hand.",
        (
            "dpstats.models.linear.result.LinearModel",
            "dpstats.models.glm.result.GlmModel",
            "dpstats.models.feols.result.PanelModel",
            "dpstats.models.gaussian.result.GaussianModel",
            "dpstats.models.mixture.result.MixtureModel",
            "dpstats.models.eptr_linear.result.EptrLinearModel",
            "dpstats.models.eptr_bayes.result.BayesModel",
            "dpstats.models.eptr_nw.result.KernelModel",
            "dpstats.models.eptr_own.result.EptrResult",
            "dpstats.models.eptr_own.safety_check.SafetyCheck",
        ),
    ),
    Group(
        "Audits",
        "Try to refute a claim of privacy.",
        (
            "dpstats.audit.audit",
            "dpstats.audit.worst_neighbours",
            "dpstats.audit.Audit",
            "dpstats.audit.AuditPoint",
        ),
    ),
    Group(
        "Errors and warnings",
        "Their messages are made of public facts alone.",
        (
            "dpstats.errors.DPStatsError",
            "dpstats.errors.FormulaError",
            "dpstats.errors.SchemaError",
            "dpstats.errors.PublicDataError",
            "dpstats.errors.PrivacyError",
            "dpstats.errors.ArgumentError",
            "dpstats.errors.UnknownArgument",
            "dpstats.errors.NotReleasedError",
            "dpstats.errors.PassError",
            "dpstats.errors.BudgetError",
            "dpstats.errors.BudgetExceeded",
            "dpstats.errors.PlanWarning",
            "dpstats.errors.PrivateRowsWarning",
        ),
    ),
)


def resolve(name: str) -> object:
    """The object of a full name."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def short(name: str) -> str:
    """The last part of a full name; that of the package's own module is kept."""
    return name.rpartition(".")[2]


def is_class(name: str) -> bool:
    """Whether an entry is a class; `options` is the one object of its class."""
    return isinstance(resolve(name), type)


def made_by_hand(name: str) -> bool:
    """Whether users call a class: results, which functions make, show no arguments."""
    return "Parameters\n---" in (inspect.getdoc(resolve(name)) or "") or issubclass(
        resolve(name), Exception
    )


_INSIDE = ("cautions", "doubts", "qualified", "table_facts")
"""Attributes of results that other rooms of the package read, and nobody else."""


def members(name: str) -> list[str]:
    """The documented public members of a class, inherited ones with them."""
    found = resolve(name)
    return [
        member
        for member, thing in inspect.getmembers(found)
        if not member.startswith("_")
        and member not in _INSIDE
        and (inspect.isroutine(thing) or isinstance(thing, property))
        and inspect.getdoc(thing)
        and not hasattr(Exception, member)
    ]


def targets() -> dict[str, str]:
    """The entry of every name that texts may link: functions, classes, and ``fit.method``."""
    names = [name for group in GROUPS for name in group.names]
    found = {short(name): name for name in names}
    for cls in (
        "dpstats.models.feols.result.PanelModel",
        "dpstats.models.linear.result.LinearModel",
    ):
        found |= {f"fit.{member}": f"{cls}.{member}" for member in members(cls)}
    found |= {
        f"Budget.{member}": f"dpstats.Budget.{member}"
        for member in members("dpstats.Budget")
    }
    return found | {"fit.privacy": "dpstats.report.privacy.PrivacyStatement"}


def pages() -> dict[str, str]:
    """Files of the reference in reStructuredText, by name; ``index.rst`` is its front."""
    made = {"index.rst": _front()}
    for group in GROUPS:
        for name in group.names:
            made[f"{name}.rst"] = _entry(name)
    return made


def _title(text: str, sign: str) -> list[str]:
    return [text, sign * len(text), ""]


def _front() -> str:
    lines = _title("Reference", "=")
    lines += ["Every public function and class, by what it is for.", ""]
    for group in GROUPS:
        lines += [*_title(group.title, "-"), group.lead, ""]
        lines += [".. list-table::", "   :class: reference-list", ""]
        for name in group.names:
            what = (
                (inspect.getdoc(resolve(name)) or "")
                .split("\n\n")[0]
                .replace("\n", " ")
            )
            lines += [f"   * - :py:obj:`{short(name)} <{name}>`", f"     - {what}"]
        lines += ["", ".. toctree::", f"   :caption: {group.title}", "   :hidden:", ""]
        lines += [*(f"   {name}" for name in group.names), ""]
    return "\n".join(lines)


def _entry(name: str) -> str:
    lines = _title(short(name), "=")
    module = name.rpartition(".")[0]
    lines += [f".. currentmodule:: {module}", ""]
    if not is_class(name) and not inspect.isroutine(resolve(name)):
        lines += [f".. autodata:: {name}", "   :no-value:", ""]
    elif is_class(name):
        listed = ", ".join(members(name))
        lines += [f".. autoclass:: {name}{'' if made_by_hand(name) else '()'}"]
        if listed:
            lines += [f"   :members: {listed}", "   :inherited-members:"]
            lines += [f"   :exclude-members: {', '.join(_INSIDE)}"]
        lines += [""]
    else:
        lines += [f".. autofunction:: {name}", ""]
    return "\n".join(lines)
