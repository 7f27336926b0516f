"""``python -m dpstats``: a private regression on an example, printed as it is in a session."""

from dpstats import dp_lm
from dpstats.datasets import fair


def main() -> None:
    """Fit and print the example of the README."""
    public, private = fair()
    fit = dp_lm(
        "rate_marriage ~ age + yrs_married + children + religious + educ",
        private,
        public=public,
        mu=1,
    )
    print(fit.summary())


if __name__ == "__main__":
    main()
