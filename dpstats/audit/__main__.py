"""``python -m dpstats.audit --claims``: every release, its lemma, its sensitivity and its proof."""

import argparse

from dpstats.audit.registry import claims_text


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m dpstats.audit", description=__doc__)
    parser.add_argument("--claims", action="store_true", help="print the registry of claims")
    if parser.parse_args().claims:
        print(claims_text())
    else:
        parser.print_help()


if __name__ == "__main__":
    main()
