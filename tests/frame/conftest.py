"""Tables that the tests of frame/ share."""

import numpy as np
import pandas as pd
import pytest

from dpstats.frame import reading, source


def make_table(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "x": rng.normal(size=n),
            "z": rng.uniform(1, 2, n),
            "g": rng.choice(list("abc"), n),
            "b": rng.random(n) < 0.5,
            "k": rng.integers(0, 4, n),
            "t": rng.uniform(1, 9, n),
            "w": rng.uniform(0, 3, n),
            "my col": rng.normal(size=n),
        }
    )


@pytest.fixture
def clean():
    return make_table(200, 1)


@pytest.fixture
def private():
    return make_table(150, 2)


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables fall into several parts and batches, although they are short."""
    monkeypatch.setattr(reading, "_PART_NUMBERS", 400)
    monkeypatch.setattr(source, "BLOCK_ROWS", 70)
    monkeypatch.setattr(source, "_BATCH_NUMBERS", 70)
    monkeypatch.setattr(source, "_FEWEST_ROWS", 70)
