"""Weakenings of the package, each of which the tests must notice; `python -m tests.mutations`.

A mutation changes one place of one file so that less is private than is said. It is made in a copy of
the project, and the tests of its area are run on the copy: where they pass, nobody would have noticed.
"""

from tests.mutations.listed import MUTATIONS, Mutation

__all__ = ["MUTATIONS", "Mutation"]
