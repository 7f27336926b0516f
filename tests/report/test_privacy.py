"""What a result says of its privacy."""

import numpy as np
import pytest

from dpstats.accounting.privacy import Privacy, PurePrivacy, Total
from dpstats.accounting.unit import PrivacyUnit
from dpstats.mechanism.release import Release
from dpstats.report.privacy import PrivacyStatement


@pytest.mark.parametrize("total", [Privacy(1.0), Privacy(1.0, 1e-4), PurePrivacy(1.0)])
def test_releases_that_cost_more_than_the_total_are_not_stated(total: Total) -> None:
    half = total.share(0.5)
    one = Release("x", np.zeros(1), 1.0, 1.0, half, 1.0)
    said = PrivacyStatement.of(total, [one, one], False, None, PrivacyUnit())
    assert sum(line.share for line in said.spent) == pytest.approx(1)
    with pytest.raises(RuntimeError, match="more than its total"):
        PrivacyStatement.of(total, [one, one, one], False, None, PrivacyUnit())
