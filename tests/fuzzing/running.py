"""A case is run, and what went wrong with it is found."""

from __future__ import annotations

import pickle
import re
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dpstats
from dpstats import PublicMoments
from dpstats.errors import DPStatsError, PlanWarning
from tests.fuzzing.calls import METHODS, MODELS, PLAIN_CALLS, PLANS, PUBLIC, Case
from tests.fuzzing.pages import edited
from tests.fuzzing.tables import Table, fitted
from tests.fuzzing.values import CANARIES, made

SECONDS, PATIENCE, MEGABYTES = 2.0, 20, 1000
_NO_NOISE = 100.0
"""A mean of 1000 rows that are all one number is then printed to six digits."""


@dataclass
class Outcome:
    """What became of a case; ``findings`` is what should not have been."""

    kind: str = "result"
    message: str = ""
    findings: list[str] = field(default_factory=list)
    where: list[str] = field(default_factory=list)
    """Key of each finding: kind of error and place in the package."""
    public: bool = False
    """Whether all that the call was given is public."""


class TooLongError(BaseException):
    """Not an Exception: nobody catches it by chance."""


def run(case: Case) -> Outcome:
    """Run a case, twice with different private rows, and what can be asked of its result."""
    outcome = Outcome(public=case.function in PUBLIC)
    first = _one_run(case, "private", outcome, True)
    if case.function in (*MODELS, "anova") and not outcome.findings:
        second = _one_run(case, "other", outcome, False)
        if not _same(first, second) and not outcome.findings:
            outcome.findings.append(f"depends on private values: {first!r} or {second!r}")
            outcome.where.append(f"private: {case.function}")
    outcome.kind, outcome.message = first[0], first[1]
    return outcome


def _same(first: Any, second: Any) -> bool:
    """The same words, but for addresses."""
    return re.sub("0x[0-9a-f]+", "", repr(first)) == re.sub("0x[0-9a-f]+", "", repr(second))


def _one_run(
    case: Case, role: str, outcome: Outcome, ask: bool
) -> tuple[str, str, tuple[str, ...]]:
    given = case.arguments()
    result, ended = None, ("result", "")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    data, public, newdata = (
        _built(given[name], r)
        for name, r in (("data", role), ("public", "public"), ("newdata", "public"))
    )
    values = {name: made(value) for name, value in given.items() if not isinstance(value, Table)}
    start = time.process_time()
    with warnings.catch_warnings(record=True) as said, _limited():
        warnings.simplefilter("always")
        try:
            result = _called(case.function, values, data, public)
        except DPStatsError as error:
            ended = (type(error).__name__, str(error))
            _listen(outcome, "".join(_told(error)), "error", error)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            ended = ("foreign", type(error).__name__)
            _found(outcome, error, "call")
        if result is not None and ask:
            for name, asked in _questions(case.function, result, values, public, newdata):
                try:
                    answer = asked()
                    told = answer if isinstance(answer, str) else repr(answer)
                    _listen(outcome, told, name, None, _canaries(result))
                except DPStatsError as error:
                    _listen(outcome, "".join(_told(error)), name, error)
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    _found(outcome, error, name)
    spent = time.process_time() - start
    for warning in said:
        # what the user's own functions warn of on public data is theirs
        if not issubclass(warning.category, PlanWarning) and warning.filename != "<string>":
            place = f"{warning.filename}:{warning.lineno}"
            outcome.findings.append(f"{warning.category.__name__} at {place}: {warning.message}")
            outcome.where.append(f"{warning.category.__name__} {place}")
        _listen(outcome, str(warning.message), "warning", None)
    if spent > SECONDS:
        outcome.findings.append(f"{spent:.1f} seconds")
        outcome.where.append(f"slow {case.function}")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if grown > MEGABYTES:
        outcome.findings.append(f"{grown:.0f} MiB")
        outcome.where.append(f"memory {case.function}")
    planned = tuple(str(w.message) for w in said if issubclass(w.category, PlanWarning))
    return (*ended, planned)


def _built(value: Any, role: str) -> Any:
    return value.build(role) if isinstance(value, Table) else made(value)


def _called(function: str, values: Mapping[str, Any], data: Any, public: Any) -> Any:
    def given(*left_out: str) -> dict[str, Any]:
        names = PLAIN_CALLS[function].keys() - set(left_out)
        method = {"method": values["method"]} if "method" in values else {}
        return {name: values[name] for name in names} | (method if function in METHODS else {})

    if function in MODELS:
        return getattr(dpstats, function)(values["formula"], data, public, **given("formula"))
    if function == "eptr":
        return dpstats.eptr(
            values["own"],
            values["estimate"],
            values["safety"],
            values["alpha"],
            public=values["own_public"],
            **given("own", "own_public", "estimate", "safety", "alpha"),
        )
    if function == "check_safety":
        rest = given("estimate", "safety", "alpha", "own_public")
        own = values["estimate"], values["safety"], values["alpha"], values["own_public"]
        return dpstats.check_safety(*own, **rest)
    if function == "public_moments":
        return dpstats.public_moments(values["formula"], public, **given("formula"))
    if function == "PublicMoments.declare":
        rest = given("formula", "limits", "gram")
        return PublicMoments.declare(values["formula"], values["limits"], values["gram"], **rest)
    if function == "PublicMoments.from_json":
        return PublicMoments.from_json(edited(values["text"]))
    if function == "Budget":
        return dpstats.Budget(**given())
    if function == "audit":
        turns = iter(range(10**9))
        return dpstats.audit(lambda rows: next(turns) % 7, **given())
    if function in PLANS:
        return getattr(dpstats, function)(
            values["formula"], public, values["n"], **given("formula", "n")
        )
    if function == "etable":
        rest = given("fits", "with_public")
        return dpstats.etable(values["fits"], public=values["with_public"], **rest)
    if function == "options":
        return _with_options(values)
    if function == "plot":
        return _drawable(values["model"], values, data, public)
    fit = dpstats.dp_lm(values["formula"], data, public, mu=1, seed=1)
    other = values["other"]
    return dpstats.anova(fit, fit.update(values["update"]) if other is None else other)


def _with_options(values: Mapping[str, Any]) -> list[str]:
    """What pages say under these options."""
    with dpstats.options(digits=values["digits"], stars=values["stars"]):
        said = [repr(dpstats.options), repr(fitted().summary()), repr(dpstats.etable(fitted()))]
    with dpstats.options(**{values["option"]: values.get(values["option"], 3)}):  # may be no option
        return [*said, repr(fitted("dp_glm").summary())]


def _drawable(model: str, values: Mapping[str, Any], data: Any, public: Any) -> Any:
    """What is to be drawn: a plain call of these tables."""
    if model == "audit":
        turns = iter(range(10**9))
        return dpstats.audit(lambda rows: next(turns) % 7, ([0.0], [1.0]), mu=1, trials=40)
    plain = dict(PLAIN_CALLS[model])
    formula = plain.pop("formula") if values["formula"] is None else values["formula"]
    plain |= {"formula": formula, "public": public}
    plain |= {"family": values["family"]} if "family" in plain else {}
    plain |= {} if model in PLANS else {"data": data}
    return getattr(dpstats, model)(**plain)


def _drawn(plot: Callable[[], Any]) -> str:
    """What a plot says when it is put on paper."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.text import Text

    try:
        figure = plot().figure
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            figure.canvas.draw()
        for warning in said:  # which letters there are is for the user's font to say
            if not str(warning.message).startswith("Glyph"):
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
        return repr([text.get_text() for text in figure.findobj(Text)])
    finally:
        pyplot.close("all")


def _plots(result: Any, values: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every plot that a result has, with arguments of its own."""
    has, ax, model = _knows(result), values["ax"], values["model"]
    if has("plot"):
        own = {"terms": values["wanted"], "intercept": values["intercept"]}
        if model not in (*PLANS, "dp_lm", "dp_glm", "eptr_lm"):
            own = {"x": values["wanted"]} if model in ("dp_mvnorm", "dp_mixture") else {}
        if model not in (*PLANS, "audit"):
            own["level"] = values["level"]
        yield "plot", lambda: _drawn(lambda: result.plot(**own, ax=ax))
    if has("plot_privacy"):
        yield "plot_privacy", lambda: _drawn(lambda: result.plot_privacy(ax, values["deltas"]))
    if has("path"):
        own = {"terms": values["wanted"], "intercept": values["intercept"], "ax": ax}
        way = values["penalty"], values["lambdas"]
        yield "path.plot", lambda: _drawn(lambda: result.path(*way).plot(**own))


def _questions(
    function: str, result: Any, values: Mapping[str, Any], public: Any, newdata: Any
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked of a result."""
    has = _knows(result)
    if function == "plot":
        yield from _plots(result, values)
        return
    yield "repr", lambda: repr(result)
    yield "html", lambda: result._repr_html_() if hasattr(type(result), "_repr_html_") else ""
    if isinstance(result, PublicMoments):
        plain = Table().build("other")
        yield "to_json", lambda: result.to_json()
        yield "from_json", lambda: PublicMoments.from_json(result.to_json())
        yield "with_ridge", lambda: result.with_ridge(values["ridge_share"])
        yield "full rank", lambda: result.require_full_rank()
        formula = "y ~ x + g + poly(z, 2)" if function.endswith("json") else values["formula"]
        yield "dp_lm", lambda: dpstats.dp_lm(formula, plain, result, mu=1, seed=1)
        yield (
            "dp_glm",
            lambda: dpstats.dp_glm(formula, plain, result, family="gaussian", mu=1, seed=1),
        )
        return
    if isinstance(result, dpstats.Budget):
        cost = values["level"]
        for unit in ("mu", "rho", "epsilon"):
            yield f"charge {unit}", lambda unit=unit: result.charge("a", **{unit: cost})
        yield "charge", lambda: result.charge(values["change"], epsilon=0.1, delta=cost)
        yield "tidy", lambda: repr(result.tidy())
        for part in (result.spent, result.remaining):
            yield "epsilon", lambda part=part: part.epsilon(values["at_delta"])
            yield "delta", lambda part=part: part.delta(values["at_delta"])
        for form in ("to_text", "to_markdown", "to_latex", "to_html", "to_csv"):
            yield f"table {form}", lambda form=form: getattr(result.table(), form)()
        return
    for form in ("to_text", "to_markdown", "to_latex", "to_html", "to_csv"):
        if has(form):
            yield form, lambda form=form: getattr(result, form)()
    if has("smallest_n"):
        yield "smallest", lambda: repr((result.smallest_mu, result.smallest_n()))
        yield "std_error", lambda: repr(result.std_error())
    if has("summary"):
        for form in ("to_text", "to_markdown", "to_latex", "to_html", "to_csv", "__repr__"):
            yield f"summary {form}", lambda form=form: getattr(result.summary(), form)()
    for name in ("tidy", "glance", "bounds", "diagnostics", "coef", "se", "to_json", "nobs"):
        if has(name):
            yield name, lambda name=name: _asked(getattr(result, name))
    if has("privacy"):
        spent = result.privacy
        yield "privacy", lambda: repr(spent) + spent.line() + repr(spent.mechanisms)
        yield "privacy.for_group", lambda: repr(spent.for_group(values["draws"]))
        yield "privacy.epsilon", lambda: spent.epsilon(values["at_delta"])
        yield "privacy.delta", lambda: spent.delta(values["at_delta"])
    if function in MODELS:
        level, change = values["level"], values["change"]
        for name in ("confint", "tidy", "odds_ratios", "ratio_table"):
            if has(name) and (name != "tidy" or has("confint")):
                yield f"{name}(level)", lambda name=name: getattr(result, name)(level)
        if has("vcov"):
            yield "vcov", lambda: result.vcov(values["part"])
        if has("update"):
            yield "update", lambda: repr(result.update(change).summary())
            yield "anova", lambda: dpstats.anova(result, result.update(change))
            yield (
                "path",
                lambda: result.path(values["penalty"], values["lambdas"], values["mixing"]),
            )
        if has("predict"):
            options = {} if values["type"] is None else {"type": values["type"]}
            if function not in ("dp_glm", "eptr_bayes", "dp_mixture"):
                options = {}
            if values["interval"] is not None and function not in ("eptr_bayes", "dp_mixture"):
                options |= {"interval": values["interval"], "level": level}
            yield "predict", lambda: repr(result.predict(newdata, **options))
            yield "predict public", lambda: repr(result.predict(public, **options))
            yield (
                "predict plain",
                lambda: repr(result.predict(Table(n=3).build("public"), **options)),
            )
        if has("confusion"):
            yield "confusion", lambda: result.confusion(newdata)
        if has("balanced_error"):
            yield "balanced_error", lambda: result.balanced_error(newdata)
        if has("vif"):
            yield "vif", lambda: result.vif()
        if has("sample"):
            yield "sample", lambda: result.sample(values["draws"], seed=values["draw_seed"])
        if has("to_moments"):
            yield "to_moments", lambda: result.to_moments(values["moments"])
        for name in ("mean", "cov", "corr", "cov_se", "condition", "priors", "means", "weights"):
            if has(name):
                yield name, lambda name=name: getattr(result, name)
        for name in ("covariances", "curve", "bandwidth", "complete", "dispersion", "sigma"):
            if has(name):
                yield name, lambda name=name: getattr(result, name)
        yield "pickle", lambda: repr(pickle.loads(pickle.dumps(result)))
        yield "attribute", lambda: _attribute(result, values["attribute"])


def _knows(result: Any) -> Callable[[str], bool]:
    """Whether a result knows a name; its class is asked, or its own attributes."""
    return lambda name: hasattr(type(result), name) or name in getattr(result, "__dict__", {})


def _asked(what: Any) -> Any:
    return what() if callable(what) else what


def _attribute(result: Any, name: str) -> Any:
    try:
        return getattr(result, name)
    except AttributeError as error:
        return str(error)


def _told(error: BaseException | None) -> list[str]:
    """What an error and those behind it say."""
    told: list[str] = []
    while error is not None:
        told += [
            type(error).__name__,
            str(error),
            repr(error),
            *map(str, error.__dict__.get("__notes__", [])),
        ]
        following = error.__cause__ or error.__context__
        error = following
    return told


def _canaries(result: Any) -> tuple[str, ...]:
    """What no answer may show: with a budget this large, estimates are those without noise."""
    privacy = getattr(result, "privacy", None)
    return CANARIES[1:] if privacy is not None and privacy.mu > _NO_NOISE else CANARIES


def _listen(
    outcome: Outcome,
    text: str,
    where: str,
    error: BaseException | None,
    canaries: tuple[str, ...] = CANARIES,
) -> None:
    for canary in () if outcome.public else canaries:
        if canary in text:
            at = text.index(canary)
            shown = text[max(at - 100, 0) : at + 40]
            outcome.findings.append(f"a private value shows in {where}: {shown!r}")
            outcome.where.append(f"shown {where} {type(error).__name__}")


def _found(outcome: Outcome, error: BaseException, where: str) -> None:
    if isinstance(error, SystemExit):  # the user's own function asks for it
        return
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/dpstats/" in f.filename and "/tests/" not in f.filename]
    place = f"{ours[-1].filename.rsplit('/dpstats/', 1)[-1]}:{ours[-1].lineno}" if ours else "?"
    try:
        said = str(error)
    except BaseException:
        said = "(cannot be said)"
    last = f" (in {frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    outcome.findings.append(f"{type(error).__name__} from {where} at {place}{last}: {said[:200]}")
    outcome.where.append(f"{type(error).__name__} {place}")
    for told in _told_safely(error):
        _listen(outcome, told, where, error)


def _told_safely(error: BaseException) -> list[str]:
    try:
        return _told(error)
    except BaseException:
        return []


@contextmanager
def _limited() -> Iterator[None]:
    """An end to what takes for ever, or all memory."""

    def stop(*_: object) -> None:
        raise TooLongError(f"more than {PATIENCE} seconds")

    old_alarm = signal.signal(signal.SIGALRM, stop)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    signal.alarm(PATIENCE)
    resource.setrlimit(resource.RLIMIT_AS, (now + 2 * MEGABYTES * 2**20, hard))
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, old_alarm)


def smaller(case: Case, same: Callable[[Outcome], bool]) -> Case:
    """The case without the changes that are not needed for the same outcome."""
    changes = list(case.changes)
    k = 0
    while k < len(changes):
        fewer = Case(case.function, tuple(changes[:k] + changes[k + 1 :]))
        if same(run(fewer)):
            del changes[k]
        else:
            k += 1
    return Case(case.function, tuple(changes))
