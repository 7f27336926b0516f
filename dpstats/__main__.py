"""``python -m dpstats``: a private regression on an example, printed as it is in a session."""

import argparse

from dpstats import dp_lm, etable
from dpstats.datasets import fair

FORMULA = "rate_marriage ~ age + yrs_married + children + religious + educ"
CODE = f"""\
from dpstats import dp_lm
from dpstats.datasets import fair

public, private = fair()
fit = dp_lm(
    "{FORMULA}",
    private,
    public=public,
    mu=1,
)
fit.summary()
"""


def main(arguments: list[str] | None = None) -> None:
    """Fit and print the example of the README."""
    parser = argparse.ArgumentParser(
        prog="python -m dpstats", description="A private regression on Fair's survey."
    )
    parser.add_argument(
        "--seed", type=int, help="reproducible noise, for teaching; the page then says so"
    )
    parser.add_argument(
        "--to",
        choices=["text", "markdown", "latex", "html", "csv"],
        default="text",
        help="text: the summary; else a table of coefficients to paste into a report",
    )
    given = parser.parse_args(arguments)
    public, private = fair()
    fit = dp_lm(FORMULA, private, public=public, mu=1, seed=given.seed)
    if given.to != "text":
        print(getattr(etable(fit, public=True), f"to_{given.to}")())
        return
    print(CODE)
    print(fit.summary())


if __name__ == "__main__":
    main()
