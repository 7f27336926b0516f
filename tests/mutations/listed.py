"""The list: what is weakened where, and which tests are to notice it.

``old`` stands exactly once in its file. ``tests`` are what pytest is given: files, tests of them, or
cases of tests. They are among those that run by default, and few, so that the list takes minutes.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """One change of one file, after which less is private than is said."""

    name: str
    area: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def _of(area: str) -> _Area:
    return _Area(area)


@dataclass(frozen=True)
class _Area:
    area: str

    def __call__(self, name: str, file: str, old: str, new: str, *tests: str) -> Mutation:
        return Mutation(name, self.area, file, old, new, tests)


def _replayed(*methods: str) -> tuple[str, ...]:
    """Neighbours in step, and the change of every total."""
    test = "tests/test_sensitivities.py::test_no_total_moves_farther_than_is_claimed"
    return tuple(f"{test}[{method}]" for method in methods)


def _inside(lines: str) -> str:
    """What follows the first line, in its block."""
    first, _, rest = lines.partition("\n")
    return f"{first}\n{textwrap.indent(rest, '    ')}"


def _charged(*methods: str) -> tuple[str, ...]:
    """What persons with three rows are charged."""
    test = "test_persons_are_charged_the_total_and_rows_are_noised_for_it"
    return tuple(f"tests/budget/test_charges.py::{test}[{method}]" for method in methods)


_MECHANISM, _FRAME = "tests/mechanism", "tests/frame"
_CONDITIONAL = "tests/mechanism/test_conditional.py"
_GAUSSIAN = "tests/mechanism/test_release.py"
_SESSION = "tests/mechanism/test_session.py"
_PASSES = "tests/test_passes.py"
_FORGETTING = "tests/test_forgetting.py"
_CHARGES = "tests/budget/test_charges.py"
_BUDGET_CALLS = "tests/budget/test_calls.py"
_BUDGET_REFUSALS = "tests/budget/test_refusals.py"
_TOO_SMALL = (
    f"{_BUDGET_REFUSALS}::test_a_total_whose_noise_is_too_large_is_refused_before_it_is_charged"
)

# -- noise ------------------------------------------------------------------------------------------

_noise = _of("noise")
_NOISE = (
    _noise(
        "a coin is a little too kind",
        "dpstats/mechanism/noise.py",
        "return happens(part.numerator, part.denominator)",
        "return happens(part.numerator + 1, part.denominator + 1)",
        _CONDITIONAL,
    ),
    _noise(
        "noise may span a few steps of the lattice",
        "dpstats/mechanism/noise.py",
        "if not SMALLEST_SD <= sd <= LARGEST_SD:",
        "if not 1.0 <= sd <= LARGEST_SD:",
        "tests/mechanism/test_noise.py::test_scales_beyond_the_lattice_statement_are_refused",
    ),
    _noise(
        "Gaussian noise is four fifths of what the sensitivity asks for",
        "dpstats/mechanism/release.py",
        "sd = sensitivity / privacy.mu * (1 + 1e-12)",
        "sd = 0.8 * sensitivity / privacy.mu",
        *_replayed("dp_lm, ssp"),
    ),
    _noise(
        "less Gaussian noise is drawn than is stated",
        "dpstats/mechanism/release.py",
        "drawn = noise.integers(sd, total.size)",
        "drawn = noise.integers(sd / 1.3, total.size)",
        f"{_SESSION}::test_released_values_have_the_sd_that_their_release_states",
    ),
    _noise(
        "coordinates with wider noise have that of the others",
        "dpstats/mechanism/release.py",
        "noise.integers(math.sqrt(2) * sd, int(wider.sum()))",
        "noise.integers(sd, int(wider.sum()))",
        f"{_GAUSSIAN}::test_wider_coordinates_have_root_two_times_the_noise",
    ),
    _noise(
        "matrices have too little noise off the diagonal",
        "dpstats/mechanism/release.py",
        "off = noise.integers(sd / between, k * len(rows))",
        "off = noise.integers(sd / 2, k * len(rows))",
        f"{_GAUSSIAN}::test_symmetric_noise_has_sd_on_the_diagonal_and_what_is_said_off_it",
    ),
    _noise(
        "pure counts have half of their noise",
        "dpstats/mechanism/release.py",
        "scale = sensitivity / privacy.at * (1 + 1e-12)",
        "scale = sensitivity / privacy.at / 2",
        *_replayed("dp_mvnorm, refined, pure"),
    ),
    _noise(
        "less Laplace noise is drawn than is stated",
        "dpstats/mechanism/release.py",
        "drawn = noise.laplace(scale, total.size)",
        "drawn = noise.laplace(scale / 1.5, total.size)",
        f"{_GAUSSIAN}::test_counts_have_the_laplace_scale_of_their_sensitivity",
    ),
    _noise(
        "pure matrices have too little noise off the diagonal",
        "dpstats/mechanism/release.py",
        "weights = np.repeat([2.0, 1.0], [k * len(rows), k * d])",
        "weights = np.repeat([4.0, 1.0], [k * len(rows), k * d])",
        f"{_GAUSSIAN}::test_pure_symmetric_noise_is_a_ball_in_the_frobenius_norm",
    ),
    _noise(
        "floats may be released beside integers",
        "dpstats/mechanism/release.py",
        "if total.dtype != object or set(map(type, total.ravel().tolist())) - {int}:",
        "if total.size < 0:",
        f"{_GAUSSIAN}::test_nothing_but_integers_is_released",
    ),
    _noise(
        "spherical noise falls too fast",
        "dpstats/mechanism/ball.py",
        "scale = parts / used * (1 + 2.0**-40)",
        "scale = parts / used * 0.9",
        "tests/mechanism/test_ball.py::test_masses_of_neighbours_differ_by_at_most_epsilon",
    ),
    _noise(
        "a draw of spherical noise is never refused within its ball",
        "dpstats/mechanism/ball.py",
        "if short >= 0 and happens_exp(short / 2):",
        "if short >= 0:",
        "tests/mechanism/test_exactness.py",
    ),
    _noise(
        "a coin of an exponential decides before it can",
        "dpstats/mechanism/integers.py",
        "if Fraction(uniform + 1, 2**bits) <= height - lost:",
        "if Fraction(uniform, 2**bits) <= height + lost:",
        "tests/mechanism/test_integers.py",
    ),
    _noise(
        "tries of a Gaussian are kept by a coin of another power",
        "dpstats/mechanism/integers.py",
        "np.exp(-((sizes / scale) ** power) / power), block)",
        "np.exp(-((sizes / scale) ** power)), block)",
        "tests/mechanism/test_integers.py",
    ),
)

# -- lattices and grids -----------------------------------------------------------------------------

_lattice = _of("lattice")
_LATTICE = (
    _lattice(
        "a lattice is so coarse that rounding matters",
        "dpstats/mechanism/conditional.py",
        "math.log2(1e-9 * sensitivity / math.sqrt(size))",
        "math.log2(1e-2 * sensitivity / math.sqrt(size))",
        _CONDITIONAL,
    ),
    _lattice(
        "nothing is added to a sensitivity for the lattice",
        "dpstats/mechanism/conditional.py",
        "WIDENED = 1 + 1e-6",
        "WIDENED = 1.0",
        _CONDITIONAL,
    ),
    _lattice(
        "a release that its test refused is made",
        "dpstats/mechanism/conditional.py",
        "value = drawn.value if passed else np.full_like(drawn.value, np.nan)",
        "value = drawn.value",
        _CONDITIONAL,
    ),
    _lattice(
        "products of rows are split too finely for floats",
        "dpstats/mechanism/lattice.py",
        "bits = (52 - math.ceil(math.log2(2 * d))) // 2",
        "bits = (60 - math.ceil(math.log2(2 * d))) // 2",
        "tests/mechanism/test_exactness.py",
    ),
    _lattice(
        "sums of products are beyond the integers of floats",
        "dpstats/mechanism/lattice.py",
        "2 ** ((52 - log_rows) // 2)",
        "2 ** ((60 - log_rows) // 2)",
        "tests/mechanism/test_lattice.py",
    ),
    _lattice(
        "more products are summed as floats than these hold",
        "dpstats/mechanism/lattice.py",
        "sums).max(initial=0.0) < 2.0**53:",
        "sums).max(initial=0.0) < 2.0**63:",
        "tests/mechanism/test_lattice.py",
    ),
    _lattice(
        "exact sums overflow",
        "dpstats/mechanism/lattice.py",
        "_room = 2**63 - 1",
        "_room = 2**66",
        "tests/mechanism/test_lattice.py",
    ),
)

# -- rows and cuts ----------------------------------------------------------------------------------

_rows = _of("rows")
_LINEAR_ROWS = "tests/models/linear/test_rows.py"
_SPARED = "tests/models/linear/test_spared_passes.py"
_FAMILY_ROWS = "tests/score_rounds/test_rows.py"
_SHARED_ROWS = "tests/models/mixture/test_releases.py"
_CELL_ROWS = "tests/models/gaussian/test_rows.py"
_KERNEL = "tests/models/eptr_nw/test_releases.py"
_CLASSES = "tests/models/eptr_bayes/test_releases.py"
_ROWS = (
    _rows(
        "rounding may take a row beyond its radius",
        "dpstats/mechanism/passes.py",
        "inner = (radius - step * (math.sqrt(len(z)) / 2 + 1)) * (1 - 1e-12)",
        "inner = radius",
        f"{_CELL_ROWS}::test_no_lifted_row_is_longer_than_its_bound",
    ),
    _rows(
        "rows of cells, classes and sums are not cut",
        "dpstats/mechanism/passes.py",
        "scale = np.minimum(whole, longest)",
        "scale = whole",
        *_replayed("dp_mean, paper"),
    ),
    _rows(
        "rounding may take a row of a linear model beyond its radius",
        "dpstats/mechanism/passes.py",
        "inner = (radius - step * (math.sqrt(len(z)) / 2 + 1)) * (1 - 1e-12)",
        "inner = radius",
        f"{_LINEAR_ROWS}::test_no_row_is_longer_than_the_radius_after_rounding",
    ),
    _rows(
        "rows of a linear model are cut at twice the radius",
        "dpstats/models/linear/rows.py",
        "slab.norm, radius, self.grid.steps)",
        "slab.norm, 2 * radius, 2 * self.grid.steps)",
        *_replayed("dp_lm, ssp"),
    ),
    _rows(
        "the response of a cut row stays as it is",
        "dpstats/models/linear/rows.py",
        "slab.y = slab.y * slab.factor",
        "slab.y = slab.y * 1.0",
        _PASSES,
    ),
    _rows(
        "scores lie on a finer grid than is claimed",
        "dpstats/score_rounds/rows.py",
        "s, long = rounded(scores, cuts.clip, self.grid.fine)",
        "s, long = rounded(scores, cuts.clip, 4 * self.grid.fine)",
        *_replayed("dp_lm, anchored"),
    ),
    _rows(
        "outer products lie on a finer grid than is claimed",
        "dpstats/score_rounds/rows.py",
        "s, _ = rounded(scores, cuts.clip, steps)",
        "s, _ = rounded(scores, cuts.clip, 2 * steps)",
        *_replayed("dp_lm, anchored"),
    ),
    _rows(
        "rows that are kept with 24 bits are longer than their length says",
        "dpstats/score_rounds/rows.py",
        "np.multiply(norm, 1 + 2.0**-22, out=size)",
        "size[:] = norm",
        f"{_FAMILY_ROWS}::test_rows_in_half_of_the_memory_are_no_longer_than_is_said",
    ),
    _rows(
        "squared residuals are not cut",
        "dpstats/score_rounds/rows.py",
        "np.minimum(share, 1.0, out=share)",
        "np.minimum(share, 1e3, out=share)",
        *_replayed("dp_lm, anchored"),
        *_replayed("dp_glm, anchored, poisson"),
    ),
    _rows(
        "responses are not cut in moments",
        "dpstats/models/linear/rows.py",
        "np.clip(y / response_clip, -1.0, 1.0)",
        "np.clip(y / response_clip, -2.0, 2.0)",
        *_replayed("dp_lm, pmt"),
    ),
    _rows(
        "a row with an infinite response is not empty",
        "dpstats/models/linear/rows.py",
        "bad = ~(np.isfinite(norm) & np.isfinite(y))",
        "bad = ~np.isfinite(norm)",
        f"{_PASSES}::test_a_row_without_a_finite_response_is_empty",
    ),
    _rows(
        "the papers' rows are not truncated for generalised models",
        "dpstats/score_rounds/rows.py",
        "kept = np.minimum(1.0, self._truncation / np.maximum(norm, 1e-300))",
        "kept = np.ones_like(norm)",
        _PASSES,
    ),
    _rows(
        "the papers' radius does not reach the rows of a generalised model",
        "dpstats/models/glm/methods.py",
        "with ScoreSession(rows, bounded, at.back, zero, total, noise, radius) as session:",
        "with ScoreSession(rows, bounded, at.back, zero, total, noise, None) as session:",
        _PASSES,
    ),
    _rows(
        "sums over the rows of a person are cut at twice their bound",
        "dpstats/score_rounds/rows.py",
        "return cls(z, norm, factor)",
        "return cls(z, norm / 2, factor)",
        *_replayed("dp_lm, anchored, persons"),
    ),
    _rows(
        "the information of a person is cut at twice its bound",
        "dpstats/score_rounds/person_rows.py",
        "length = self._stacked_lengths(slab, factor) / step",
        "length = self._stacked_lengths(slab, factor) / (2 * step)",
        *_replayed("dp_lm, anchored, persons", "dp_feols, within"),
    ),
    _rows(
        "rows of a person are counted however many they are",
        "dpstats/score_rounds/person_rows.py",
        "np.minimum(self._counted(slab), most).sum()",
        "self._counted(slab).sum()",
        "tests/score_rounds/test_person_rows.py::test_of_nobody_more_rows_are_counted_than_is_claimed",
    ),
    _rows(
        "missing rows of a person take part in its effect",
        "dpstats/score_rounds/person_rows.py",
        "        values[~alive] = 0.0\n",
        "",
        "tests/score_rounds/test_person_rows.py::"
        "test_rows_that_cannot_be_used_are_nothing_within_persons",
    ),
    _rows(
        "rows without a name are those of the first person",
        "dpstats/frame/persons.py",
        "np.where(codes < 0, -1,",
        "np.where(codes < 0, 0,",
        "tests/score_rounds/test_person_rows.py::test_rows_that_cannot_be_used_change_nothing",
    ),
    _rows(
        "scores and information rows are cut at twice their bounds",
        "dpstats/score_rounds/rows.py",
        "over = norm * np.abs(with_step) > inner",
        "inner = 2 * inner\n    over = norm * np.abs(with_step) > inner",
        *_replayed("dp_glm, anchored, poisson"),
    ),
    _rows(
        "what a family returns is believed to be finite",
        "dpstats/score_rounds/rows.py",
        "return values if np.isfinite(values.sum()) else np.where(np.isfinite(values), values, 0.0)",
        "return values",
        f"{_FAMILY_ROWS}::test_no_bound_relies_on_what_a_family_returns",
    ),
    _rows(
        "features of classes are cut at twice the radius",
        "dpstats/models/eptr_bayes/rows.py",
        "cut_to_grid(features, exponent, length, self._radius, self.steps)",
        "cut_to_grid(features, exponent, length, 2 * self._radius, 2 * self.steps)",
        *_replayed("eptr_bayes, sums"),
    ),
    _rows(
        "rows of cells are cut at twice their radius",
        "dpstats/models/gaussian/rows.py",
        "shortened = cut_to_grid(rows[1:], exponent, norm, radii[j], steps)",
        "shortened = cut_to_grid(rows[1:], exponent, norm, 2 * radii[j], 2 * steps)",
        *_replayed("dp_mvnorm, refined"),
    ),
    _rows(
        "shares of a row in components are cut at twice as many steps",
        "dpstats/models/mixture/rows.py",
        "_to_grid(stacked, longest, steps)",
        "_to_grid(stacked, longest / 2, 2 * steps)",
        _SHARED_ROWS,
    ),
    _rows(
        "a row has two densities",
        "dpstats/models/mixture/rows.py",
        "return (np.bincount(place, minlength=len(edges) + 1),)",
        "return (2 * np.bincount(place, minlength=len(edges) + 1),)",
        _SHARED_ROWS,
    ),
    _rows(
        "likelihoods of mixtures are not cut",
        "dpstats/models/mixture/rows.py",
        "_to_grid(logs, clip, fine)",
        "_to_grid(logs, 1e9 * clip, fine)",
        _SHARED_ROWS,
    ),
    _rows(
        "a row may be in a cell that is not counted",
        "dpstats/models/gaussian/rows.py",
        'raise ValueError("the partition has other cells than are counted")',
        "pass",
        "tests/models/gaussian/test_releases.py::test_a_partition_has_as_many_cells_as_are_counted",
    ),
    _rows(
        "responses of curves are not cut",
        "dpstats/models/eptr_nw/rows.py",
        "/ plan.radius, -1.0, 1.0)",
        "/ plan.radius, -9.0, 9.0)",
        *_replayed("eptr_nw, gp"),
    ),
    _rows(
        "squares of responses are not cut",
        "dpstats/models/eptr_nw/rows.py",
        "w = np.minimum(np.abs(slab.e[rows]) / self._plan.square, 1.0) ** 2",
        "w = np.minimum(np.abs(slab.e[rows]) / self._plan.square, 9.0) ** 2",
        f"{_KERNEL}::test_directed_pairs_move_nothing_by_more_than_is_claimed",
    ),
    _rows(
        "a cut of squares of responses may be nothing",
        "dpstats/models/eptr_nw/rows.py",
        'for name in ("radius", "square"):',
        'for name in ("radius",):',
        f"{_KERNEL}::test_a_cut_of_squares_at_nothing_leaves_no_row_unbounded",
    ),
    _rows(
        "a residual is counted on both sides",
        "dpstats/models/eptr_nw/rows.py",
        "return np.maximum(slab.e, 0.0), np.maximum(-slab.e, 0.0)",
        "return np.abs(slab.e), np.maximum(-slab.e, 0.0)",
        f"{_KERNEL}::test_a_row_is_in_one_bin_of_residuals_at_most",
    ),
    _rows(
        "weights at several nodes are not cut",
        "dpstats/models/eptr_nw/rows.py",
        "    over = total > longest**2",
        "    over = total > 4 * longest**2",
        f"{_KERNEL}::test_weights_are_cut_to_the_length_that_is_claimed",
    ),
    _rows(
        "rows with missing values have weights",
        "dpstats/models/eptr_nw/rows.py",
        "alive = np.array(columns[1], dtype=np.bool_)",
        "alive = np.ones_like(columns[1], dtype=np.bool_)",
        f"{_KERNEL}::test_rows_that_are_missing_or_broken_count_nowhere",
    ),
)

# -- sensitivities ----------------------------------------------------------------------------------

_claim = _of("sensitivities")
_SQUARES = "tests/models/eptr_linear/test_releases.py"
_CLAIMS = (
    _claim(
        "a replaced row moves one count",
        "dpstats/mechanism/session.py",
        "1 / fine / per, math.sqrt(moved) * fine",
        "1 / fine / per, math.sqrt(moved / 2) * fine",
        *_replayed("dp_lm, anchored"),
    ),
    _claim(
        "a replaced row moves one pure count",
        "dpstats/mechanism/session.py",
        "release_counts(what, counts, float(moved),",
        "release_counts(what, counts, moved / 2,",
        *_replayed("dp_mvnorm, refined, pure"),
    ),
    _claim(
        "one count does not move",
        "dpstats/mechanism/session.py",
        "moved = min(2 * memberships, counts.size)",
        "moved = min(2 * memberships, counts.size - 0.5)",
        *_replayed("dp_mean, refined"),
    ),
    _claim(
        "squares have half of their sensitivity",
        "dpstats/score_rounds/releases.py",
        "self._vector(what, totals.squares, float(steps**2), unit, squares)",
        "self._vector(what, totals.squares, steps**2 / 2, unit, squares)",
        *_replayed("dp_lm, anchored"),
    ),
    _claim(
        "what a cut takes off moves by half of its length",
        "dpstats/score_rounds/releases.py",
        "self._vector(_EXCESS, total, float(fine), clip",
        "self._vector(_EXCESS, total, fine / 2, clip",
        *_replayed("dp_lm, anchored"),
    ),
    _claim(
        "a row of zeros with an infinite factor has no length",
        "dpstats/score_rounds/rows.py",
        "        return np.where(self.norm > 0, self.norm * np.abs(self.factor), 0.0)\n",
        "        return np.asarray(self.norm * np.abs(self.factor))\n",
        "tests/score_rounds/test_rows.py::"
        "test_replacing_a_row_moves_no_release_by_more_than_its_sensitivity",
    ),
    _claim(
        "a row outside limits counts as cut as well",
        "dpstats/score_rounds/rows.py",
        "cut, outside = cut & ~beyond, int(np.count_nonzero(beyond))",
        "outside = int(np.count_nonzero(beyond))",
        "tests/score_rounds/test_rows.py::test_a_row_is_in_one_of_three_counts",
    ),
    _claim(
        "a row outside limits counts as cut as well, in cells",
        "dpstats/models/gaussian/rows.py",
        "np.count_nonzero(shortened & ~outside)",
        "np.count_nonzero(shortened)",
        "tests/models/gaussian/test_rows.py::test_a_row_outside_limits_is_not_counted_among_cut_ones",
    ),
    _claim(
        "second moments move by R^2",
        "dpstats/mechanism/session.py",
        "(2 if papers else math.sqrt(2)) * steps**2,",
        "(2 if papers else 1.0) * steps**2,",
        *_replayed("dp_lm, ssp"),
    ),
    _claim(
        "moments with the response move by R B",
        "dpstats/models/linear/releases.py",
        "            2.0 * steps**2,",
        "            1.0 * steps**2,",
        *_replayed("dp_lm, pmt"),
    ),
    _claim(
        "scores move by one clip",
        "dpstats/score_rounds/releases.py",
        "self._vector(what, total, 2.0 * fine, unit",
        "self._vector(what, total, 1.0 * fine, unit",
        *_replayed("dp_lm, anchored"),
        *_replayed("dp_glm, anchored, binomial"),
    ),
    _claim(
        "sums of classes move by sqrt(2) R",
        "dpstats/models/eptr_bayes/releases.py",
        "self._vector(what, total, 2.0 * fine, unit, cost)",
        "self._vector(what, total, 1.42 * fine, unit, cost)",
        *_replayed("eptr_bayes, sums, diagonal"),
    ),
    _claim(
        "a row is in the histogram of one feature",
        "dpstats/models/eptr_bayes/releases.py",
        "counts.ravel(), cost, memberships=len(counts))",
        "counts.ravel(), cost, memberships=1)",
        f"{_CLASSES}::test_replacing_a_row_moves_two_counts_of_each_feature_at_most",
    ),
    _claim(
        "second moments of classes move as their sums do alone",
        "dpstats/models/eptr_bayes/releases.py",
        "float(steps**2 + lift**2),",
        "float(steps * lift),",
        *_replayed("eptr_bayes, sums"),
        f"{_CLASSES}::test_replacing_a_row_moves_no_moment_by_more_than_is_claimed",
    ),
    _claim(
        "numbers of classes have the noise of their sums",
        "dpstats/models/eptr_bayes/releases.py",
        "[np.full(len(part), k % 2 == 1) for k, part in enumerate(parts)]",
        "[np.full(len(part), k == 1) for k, part in enumerate(parts)]",
        f"{_CLASSES}::test_noise_of_moments_is_wider_where_the_proof_divides",
    ),
    _claim(
        "the mean of one class alone moves",
        "dpstats/models/eptr_bayes/releases.py",
        "4 * radius**2 * (1 / count**2 + 1 / (count + 1) ** 2)",
        "4 * radius**2 * (1 / count**2)",
        *_replayed("eptr_bayes, ptr, gdp"),
    ),
    _claim(
        "a curve moves by sqrt(2) lengths",
        "dpstats/models/eptr_nw/releases.py",
        "sensitivity = CURVE_MOVES * features.length / _UNIT + math.sqrt(total.size)",
        "sensitivity = 1.42 * features.length / _UNIT + math.sqrt(total.size)",
        *_replayed("eptr_nw, gp"),
    ),
    _claim(
        "squares of a curve come for nothing",
        "dpstats/models/eptr_nw/releases.py",
        "CURVE_MOVES = math.sqrt(4 + (_SQUARE / _PARTS) ** 2)",
        "CURVE_MOVES = 2.0",
        f"{_KERNEL}::test_the_curve_comes_as_the_image_of_the_sums_and_a_row_attains_its_sensitivity",
    ),
    _claim(
        "degrees of several nodes move by the weights of one row",
        "dpstats/models/eptr_nw/releases.py",
        "sensitivity = 1.0 if len(below) == 1 else math.sqrt(2) * self._longest",
        "sensitivity = 1.0 if len(below) == 1 else self._longest",
        f"{_KERNEL}::test_the_sensitivity_of_degrees_is_attained",
    ),
    _claim(
        "values at several nodes move by the weights of one row",
        "dpstats/models/eptr_nw/releases.py",
        "one = 2 / ratio if nodes == 1 else 2 * math.sqrt(2) * longest / ratio",
        "one = 2 / ratio if nodes == 1 else 2 * longest / ratio",
        f"{_KERNEL}::test_the_move_of_weighted_values_is_attained",
        f"{_KERNEL}::test_no_search_moves_weighted_values_further",
    ),
    _claim(
        "bounded values of a curve move by half as much",
        "dpstats/models/eptr_nw/releases.py",
        "move = 2.0 * WIDENED if m == 1",
        "move = 1.0 * WIDENED if m == 1",
        *_replayed("eptr_nw, adaptive"),
    ),
    _claim(
        "bounds on many degrees fail as seldom as one of them",
        "dpstats/models/eptr_nw/releases.py",
        "z = -float(special.ndtri(self.total.slack / m)) * (1 + 1e-6)",
        "z = -float(special.ndtri(self.total.slack)) * (1 + 1e-6)",
        f"{_KERNEL}::test_bounded_values_are_recorded_and_use_their_slack_once",
    ),
    _claim(
        "a row moves the safety of a curve by half a level",
        "dpstats/models/eptr_nw/releases.py",
        "step = WIDENED / float(degree.min())",
        "step = WIDENED / float(degree.min()) / 2",
        *_replayed("eptr_nw, ptr, gdp"),
    ),
    _claim(
        "solutions move by less than the diameter of the scores",
        "dpstats/models/eptr_linear/releases.py",
        "return 2 * radius * (b + a * c) * math.sqrt(1 - c * c)",
        "return 2 * radius * b",
        *_replayed("eptr_lm, ptr, gdp"),
    ),
    _claim(
        "with one column solutions move by half of it",
        "dpstats/models/eptr_linear/releases.py",
        "return radius * (a + b + b * b / (4 * a)) if a >= b / 2 else 2 * b * radius",
        "return radius * (a + b) if a >= b / 2 else b * radius",
        f"{_SQUARES}::test_the_diameter_is_the_supremum_of_a_search",
    ),
    _claim(
        "the smallest eigenvalue moves by half a row",
        "dpstats/models/eptr_linear/releases.py",
        "sensitivity = _influence(radius, n, d)",
        "sensitivity = radius**2 / 2",
        *_replayed("eptr_lm, adaptive"),
    ),
    _claim(
        "the bound on an eigenvalue forgets the neighbour's row",
        "dpstats/models/eptr_linear/releases.py",
        "return value - z * release.noise_sd - release.step - influence",
        "return value - z * release.noise_sd - release.step",
        f"{_SQUARES}::test_the_bound_of_a_bounded_solution_is_that_of_its_proof",
    ),
    _claim(
        "the bound on an eigenvalue forgets its noise",
        "dpstats/models/eptr_linear/releases.py",
        "z = -float(special.ndtri(slack)) * (1 + 1e-6)",
        "z = 0.0",
        f"{_SQUARES}::test_the_bound_of_a_bounded_solution_is_that_of_its_proof",
    ),
    _claim(
        "levels of an eigenvalue are half a row apart",
        "dpstats/models/eptr_linear/releases.py",
        "step = _influence(limits.radius, n, d)",
        "step = limits.radius**2 / 2",
        f"{_SQUARES}::test_levels_bound_the_worst_pairs",
        f"{_SQUARES}::test_levels_of_neighbours_differ_by_one_at_most_for_a_radius_of_any_size",
    ),
    _claim(
        "solutions are not projected to the ball",
        "dpstats/models/eptr_linear/releases.py",
        "return coef * (length / size) if size > length else coef",
        "return coef",
        *_replayed("eptr_lm, adaptive"),
    ),
    _claim(
        "a step of rounds moves by one score",
        "dpstats/models/eptr_linear/releases.py",
        "exact = 2 * self.score + self.radius**2 * self.length",
        "exact = self.score + self.radius**2 * self.length",
        *_replayed("eptr_lm, rounds"),
    ),
    _claim(
        "a step of rounds forgets that the matrix moves",
        "dpstats/models/eptr_linear/releases.py",
        "exact = 2 * self.score + self.radius**2 * self.length",
        "exact = 2 * self.score",
        f"{_SQUARES}::test_the_bound_of_a_step_is_nearly_attained",
    ),
    _claim(
        "joint moments move by 1.5",
        "dpstats/models/eptr_linear/releases.py",
        "what, total, 2.0 * steps**2, unit",
        "what, total, 1.5 * steps**2, unit",
        *_replayed("eptr_lm, adassp"),
    ),
    _claim(
        "lifted moments move by those of one row",
        "dpstats/models/gaussian/releases.py",
        "math.sqrt(2) * (steps**2 + lift**2),",
        "1.0 * (steps**2 + lift**2),",
        *_replayed("dp_mvnorm, refined"),
    ),
    _claim(
        "shared moments move by those of one row",
        "dpstats/models/mixture/releases.py",
        "math.sqrt(2) * steps**2,",
        "1.0 * steps**2,",
        "tests/models/mixture/test_releases.py",
    ),
    _claim(
        "likelihoods of mixtures move by one clip",
        "dpstats/models/mixture/releases.py",
        '"log-likelihoods of mixtures", total, 2.0 * fine, clip / fine, cost)',
        '"log-likelihoods of mixtures", total, 1.0 * fine, clip / fine, cost)',
        "tests/models/mixture/test_releases.py",
    ),
    _claim(
        "sums of rows move by one radius",
        "dpstats/models/gaussian/releases.py",
        '"sum and number of rows", joint, 2.0 * fine,',
        '"sum and number of rows", joint, 1.0 * fine,',
        *_replayed("dp_mean, refined"),
    ),
    _claim(
        "the mean of long rows moves by one length",
        "dpstats/models/gaussian/releases.py",
        '"mean of long rows", total, 2.0 * fine,',
        '"mean of long rows", total, 1.0 * fine,',
        "tests/models/gaussian/test_releases.py::test_long_rows_attain_what_is_claimed_of_their_mean",
    ),
    _rows(
        "what is beyond a length is not cut",
        "dpstats/models/gaussian/rows.py",
        "cut_to_grid(beyond, exponent[some], norm[some] * rest, length, fine)",
        "cut_to_grid(beyond, exponent[some], norm[some] * rest, 4 * length, 4 * fine)",
        "tests/models/gaussian/test_releases.py::test_replacing_a_row_moves_no_release_by_more_than_its_sensitivity",
    ),
    _claim(
        "a row is in one zone of all tests",
        "dpstats/models/gaussian/releases.py",
        "np.concatenate(counts), cost, memberships=most)",
        "np.concatenate(counts), cost)",
        "tests/models/gaussian/test_releases.py::test_zones_of_two_tests_of_one_cell_attain_their_sensitivity",
    ),
    _claim(
        "levels of an estimator of one's own are half a unit apart",
        "dpstats/models/eptr_own/releases.py",
        "return math.ceil(min(safety, _SAFEST) * (1 - 1e-6))",
        "return math.ceil(2 * min(safety, _SAFEST))",
        *_replayed("eptr, gdp"),
    ),
)

# -- tests before releases --------------------------------------------------------------------------

_test = _of("tests of safety")
_PTR = "tests/propose_test/test_plan.py"
_TESTS = (
    _test(
        "delta is spent twice, on the noise and on the unsafe level",
        "dpstats/propose_test/curve.py",
        "return gaussian_mu(epsilon, delta - slack), slack",
        "return gaussian_mu(epsilon, delta), slack",
        f"{_PTR}::test_the_split_of_delta_is_additive",
    ),
    _test(
        "the sharpest curve is made for half as much delta again",
        "dpstats/propose_test/curve.py",
        "return Ceilings(np.array([epsilon]), np.array([delta * (1 - _MARGIN)]))",
        "return Ceilings(np.array([epsilon]), np.array([delta * 1.5]))",
        f"{_PTR}::test_dp_curve_has_its_reference_values_at_a_small_delta",
    ),
    _test(
        "the unsafe level is as safe as the next",
        "dpstats/propose_test/curve.py",
        "cap_shift = shift(levels.same_at(0))",
        "cap_shift = shift(levels.same_at(1))",
        f"{_PTR}::test_dp_curve_has_its_reference_values_at_a_small_delta",
    ),
    _test(
        "a step of a curve is not verified",
        "dpstats/propose_test/curve.py",
        "if (attempt or p == cap) and bool((value <= c.limits).all()):",
        "if attempt or p == cap:",
        f"{_PTR}::test_curves_of_random_profiles_keep_delta_and_do_not_fall",
    ),
    _test(
        "neighbours at two levels are looked at in one direction",
        "dpstats/propose_test/curve.py",
        "    value[1] = (p - q) - c.excess * (1 - p)",
        "    value[1] = -1.0 + 0 * (p - q) - c.excess * (1 - p)",
        f"{_PTR}::test_curves_of_random_profiles_keep_delta_and_do_not_fall",
    ),
    _test(
        "merged levels forget how far the lowest may move",
        "dpstats/propose_test/curve.py",
        "        same[0] = self.same[0]\n",
        "",
        f"{_PTR}::test_merging_the_bottom_levels_is_private_and_costs_almost_no_noise",
    ),
    _test(
        "the composable curve goes on beyond its last order",
        "dpstats/propose_test/curve.py",
        "    limits[-1] = min(limits[-1], slack)\n",
        "",
        f"{_PTR}::test_gdp_curve_is_below_its_target_at_6000_orders",
    ),
    _test(
        "a statistic is a level above its own",
        "dpstats/propose_test/safety.py",
        "return int(min((statistic - self.first) / self.step, 1e9)) + 1",
        "return int(min((statistic - self.first) / self.step, 1e9)) + 2",
        "tests/models/eptr_linear/test_releases.py::test_levels_and_their_edges",
    ),
    _test(
        "a plan is made for a target that is not reached",
        "dpstats/propose_test/plan.py",
        "    curve = [0.0] * below + climb(levels, sd, c)",
        "    sd = sd / 2\n    curve = [0.0] * below + climb(levels, 2 * sd, c)",
        *_replayed("eptr_bayes, ptr, gdp"),
    ),
)

# -- accounting -------------------------------------------------------------------------------------

_accounting = _of("accounting")
_PRIVACY = "tests/accounting/test_privacy.py"
_COMPOSITION = "tests/accounting/test_composition.py"
_ACCOUNTING = (
    _accounting(
        "a release takes more than its share",
        "dpstats/accounting/privacy.py",
        "return Privacy(self.mu * math.sqrt(part))",
        "return Privacy(self.mu * math.sqrt(math.sqrt(part)))",
        *_replayed("dp_lm, anchored"),
    ),
    _accounting(
        "a pure release takes more than its share",
        "dpstats/accounting/privacy.py",
        "return PurePrivacy(self.at * part)",
        "return PurePrivacy(self.at * math.sqrt(part))",
        *_replayed("dp_mvnorm, refined, pure"),
    ),
    _accounting(
        "what is spent leaves half of it",
        "dpstats/mechanism/session.py",
        "self.left -= share\n",
        "self.left -= share / 2\n",
        *_replayed("dp_lm, anchored"),
    ),
    _accounting(
        "what a session left is taken once",
        "dpstats/mechanism/session.py",
        "after.left, after._slack_used = 0.0, True",
        "after.left, after._slack_used = after.left, True",
        "tests/models/eptr_linear/test_releases.py",
    ),
    _accounting(
        "a bound is of the rows that it is used for",
        "dpstats/mechanism/session.py",
        "if all(release is not made for made in self.releases):",
        "if False:",
        "tests/models/eptr_linear/test_releases.py",
    ),
    _accounting(
        "no total lacks symmetry where its noise has it",
        "dpstats/mechanism/release.py",
        "if (total != np.swapaxes(total, -1, -2)).any():",
        "if False:",
        "tests/mechanism/test_release.py",
    ),
    _accounting(
        "a result does not state less than its releases cost",
        "dpstats/report/privacy.py",
        "if math.fsum(line.share for line in spent) > 1 + 1e-6:",
        "if False:",
        "tests/report/test_privacy.py",
    ),
    _accounting(
        "shares may exceed the total",
        "dpstats/mechanism/session.py",
        "if not 0 < share <= self.left * (1 + 1e-12):",
        "if not 0 < share:",
        f"{_SESSION}::test_overspending_is_refused_before_reading",
    ),
    _accounting(
        "a total that was begun pays for a test",
        "dpstats/mechanism/session.py",
        "        if self.left < 1 or",
        "        if self.left < 0 or",
        "tests/models/eptr_bayes/test_releases.py::test_tested_means_refuse_other_totals_and_anything_beside_them",
    ),
    _accounting(
        "a plan for another total is taken",
        "dpstats/mechanism/session.py",
        "        if not fits:\n",
        "        if fits is None:\n",
        "tests/models/eptr_bayes/test_releases.py::test_tested_means_refuse_other_totals_and_anything_beside_them",
    ),
    _accounting(
        "a total at one epsilon pays for several releases",
        "dpstats/mechanism/session.py",
        "        if isinstance(self.total, ApproximatePrivacy):\n            raise ValueError",
        "        if self.total is None:\n            raise ValueError",
        "tests/models/eptr_bayes/test_releases.py::test_tested_means_refuse_other_totals_and_anything_beside_them",
    ),
    _accounting(
        "the slack of a total is appealed to again and again",
        "dpstats/mechanism/session.py",
        "        self._slack_used = True\n",
        "        self._slack_used = False\n",
        f"{_SQUARES}::test_a_bounded_solution_is_recorded_and_uses_its_slack_once",
    ),
    _accounting(
        "two histograms are released for the price of one",
        "dpstats/score_rounds/releases.py",
        "cost, window = self._spend(share), windows[which]\n",
        "cost = self._spend(share) if which == 0 else self.total.share(share)\n"
        "        window = windows[which]\n",
        *_replayed("dp_glm, anchored, binomial"),
    ),
    _accounting(
        "an epsilon at its delta is taken for more mu",
        "dpstats/accounting/privacy.py",
        "return float(root) * (1 - 1e-10 - 1e-14 / root)",
        "return float(root) * (1 + 1e-6)",
        f"{_PRIVACY}::test_epsilon_delta_round_trip_stays_on_the_safe_side",
    ),
    _accounting(
        "slack is no part of delta",
        "dpstats/accounting/privacy.py",
        "return min(self.slack + math.exp(_log_delta(self.mu, epsilon)), 1.0)",
        "return min(math.exp(_log_delta(self.mu, epsilon)), 1.0)",
        *_charged("eptr_lm, adaptive"),
    ),
    _accounting(
        "a pure call counts as half its mu",
        "dpstats/accounting/privacy.py",
        "return 2 * math.sqrt(2) * float(special.erfinv(math.tanh(self.at / 2)))",
        "return math.sqrt(2) * float(special.erfinv(math.tanh(self.at / 2)))",
        f"{_PRIVACY}::test_pure_mu_is_the_smallest_that_follows",
    ),
    _accounting(
        "slacks do not add up",
        "dpstats/accounting/composition.py",
        "            self.slacks + one.slacks,",
        "            max(self.slacks, one.slacks),",
        f"{_COMPOSITION}::test_slack_has_a_limit_of_its_own",
        f"{_COMPOSITION}::test_where_no_call_is_gaussian_epsilons_and_deltas_add",
    ),
    _accounting(
        "rhos of pure calls do not add up",
        "dpstats/accounting/composition.py",
        "Fraction(pure.rho), slack, Fraction(cost.at))",
        "Fraction(0), slack, Fraction(cost.at))",
        f"{_COMPOSITION}::test_a_pure_cost_counts_as_the_gaussian_and_the_rho_that_follow",
    ),
    _accounting(
        "a budget has no limit for slack",
        "dpstats/accounting/composition.py",
        "        if _above(spent.slacks, self.slack):\n            return False\n",
        "",
        f"{_COMPOSITION}::test_slack_has_a_limit_of_its_own",
    ),
    _accounting(
        "pure epsilons are enough where a call was Gaussian",
        "dpstats/accounting/composition.py",
        "not spent.gaussian and not _above(spent.epsilons, self.epsilon)",
        "not _above(spent.epsilons, self.epsilon)",
        _COMPOSITION,
    ),
    _accounting(
        "the slack of a budget is taken from no delta",
        "dpstats/accounting/composition.py",
        "return resolve_privacy(epsilon=self.level, delta=self.delta - slack)",
        "return resolve_privacy(epsilon=self.level, delta=self.delta)",
        f"{_COMPOSITION}::test_limits_of_epsilon_and_delta_are_safe",
    ),
)

# -- charges ----------------------------------------------------------------------------------------

_charge = _of("charges")
_AFTER = f"{_CHARGES}::test_any_error_after_the_first_release_leaves_the_charge"
_GLM_FITS = """        ready = GlmTaskForN.of(task, rows.n)
    noise = call.noise()
    levels = charged.levels(unknown, rows.n, noise)
    if unknown:
        task = replace(task, design=charged.released_design(*written, levels))
        check_response(task.design, model)
        rows = charged.rows(task.design)
        ready = GlmTaskForN.of(task, rows.n)
    fit, session = ready.fit_rows(rows, call.per_row, noise, levels.session)
"""
_LM_FITS = """            require_share(Grid.for_rows(rows.n), call.per_row.mu, LEAST[method])
    noise = call.noise()
    levels = charged.levels(unknown, rows.n, noise)
    if unknown:
        task = replace(task, design=charged.released_design(*written, levels))
        check_response(task.design)
        rows = charged.rows(task.design)
    fit, session = fit_rows(task, rows, call.per_row, noise, levels.session)
"""
_CHARGED = (
    _charge(
        "calls with a total of a row charge per row",
        "dpstats/call.py",
        "return Call(function, given, unit, unit.whole(total), total, **how), terms",
        "return Call(function, given, unit, total, total, **how), terms",
        *_charged("eptr_lm, ptr, dp", "eptr_bayes, sums", "eptr_nw, gp", "eptr, gdp"),
    ),
    _charge(
        "a round of the paper's pipeline that cannot be released is charged",
        "dpstats/models/gaussian/fit.py",
        '[PAPERS_SHARE if method == "paper" else first]',
        "[first]",
        f"{_TOO_SMALL}[dp_mvnorm, paper]",
    ),
    _charge(
        "a total too small for its smallest share is charged",
        "dpstats/models/linear/dp_lm.py",
        "call.per_row.mu, LEAST[method])",
        "call.per_row.mu, 1.0)",
        f"{_TOO_SMALL}[dp_lm]",
    ),
    _charge(
        "Gaussian calls charge per row",
        "dpstats/call.py",
        "charge = charged(self.budget, self.total, self.unit,",
        "charge = charged(self.budget, self.per_row, self.unit,",
        *_charged("dp_lm, anchored"),
    ),
    _charge(
        "Gaussian calls spend on a row what a person was promised",
        "dpstats/call.py",
        """PrivacyUnit.of(rows_per_person, person, jointly)
        return Call(function, given, unit, total, total.per_row(unit.times), **how)""",
        """PrivacyUnit.of(rows_per_person, person, jointly)
        return Call(function, given, unit, total, total, **how)""",
        *_charged("dp_glm, anchored, binomial"),
    ),
    _charge(
        "pure calls spend on a row what a person was promised",
        "dpstats/call.py",
        """        unit = PrivacyUnit.of(rows_per_person, person)
        return Call(function, given, unit, total, total.per_row(unit.times), **how)""",
        """        unit = PrivacyUnit.of(rows_per_person, person)
        return Call(function, given, unit, total, total, **how)""",
        *_charged("dp_mean, refined, pure"),
    ),
    _charge(
        "methods behind a test spend on a row what a person was promised",
        "dpstats/propose_test/call.py",
        "    if unit.rows != 1:\n",
        "    if unit.rows < 1:\n",
        *_charged("eptr_bayes, ptr, gdp", "eptr_nw, ptr, dp"),
    ),
    _charge(
        "Gaussian methods of eptr spend on a row what a person was promised",
        "dpstats/propose_test/call.py",
        "return resolve_privacy(**given).per_row(unit.times), SafetyTerms()",
        "return resolve_privacy(**given), SafetyTerms()",
        *_charged("eptr_nw, gp"),
    ),
    _charge(
        "a result states for a person what holds for a row",
        "dpstats/report/privacy.py",
        "return cls(unit.whole(total), spent, seeded, shown, unit)",
        "return cls(total, spent, seeded, shown, unit)",
        *_charged("dp_mean, paper"),
    ),
    _charge(
        "dp_lm fits where what is refused is not charged",
        "dpstats/models/linear/dp_lm.py",
        _LM_FITS,
        _inside(_LM_FITS),
        _AFTER,
    ),
    _charge(
        "dp_glm fits where what is refused is not charged",
        "dpstats/models/glm/dp_glm.py",
        _GLM_FITS,
        _inside(_GLM_FITS),
        _AFTER,
    ),
    _charge(
        "a reading that fails withdraws its charge",
        "dpstats/budget/charge.py",
        "            if self._budget is not None:\n                error.args",
        '            self._note("withdrawn")\n            if self._budget is not None:\n'
        "                error.args",
        f"{_BUDGET_CALLS}::test_a_reading_that_breaks_off_stays_charged",
    ),
    _charge(
        "Ctrl-C withdraws a charge",
        "dpstats/budget/charge.py",
        "elif isinstance(error, DPStatsError | PlanWarning):",
        "elif isinstance(error, DPStatsError | PlanWarning | KeyboardInterrupt):",
        f"{_BUDGET_CALLS}::test_a_call_that_a_person_stops_stays_charged",
        f"{_BUDGET_CALLS}::test_an_estimator_that_is_stopped_stays_charged",
    ),
    _charge(
        "an open budget is not charged",
        "dpstats/budget/charge.py",
        "        budget = open_budget()\n    elif",
        "        return Charge(None)\n    elif",
        "tests/contracts/test_contracts.py::test_a_refused_call_touches_no_data_and_charges_nothing",
    ),
    _charge(
        "a call that is more than what is left is charged and made",
        "dpstats/budget/budget.py",
        "if not published and not caps.hold(state.spent.plus(counted.cost)):",
        "if not published and not caps.hold(counted.cost and Composed().plus(counted.cost)):",
        f"{_BUDGET_REFUSALS}::test_two_calls_of_half_fit_and_then_nothing_does",
    ),
    _charge(
        "a budget of persons takes calls for rows",
        "dpstats/budget/budget.py",
        "        if unit.most < needed:\n",
        "        if unit.most < 1:\n",
        f"{_BUDGET_REFUSALS}::test_a_budget_of_persons_takes_no_call_for_rows",
    ),
    _charge(
        "a budget of rows takes calls that protect one person",
        "dpstats/budget/budget.py",
        "elif own.person is None and unit.jointly:",
        "elif own.person == 0 and unit.jointly:",
        f"{_BUDGET_REFUSALS}::test_a_budget_knows_whom_a_column_names",
    ),
    _charge(
        "a call for named persons is taken for rows",
        "dpstats/budget/budget.py",
        "            needed = 2 * own.most\n",
        "            needed = own.most\n",
        f"{_BUDGET_REFUSALS}::test_a_budget_knows_whom_a_column_names",
    ),
    _charge(
        "the charge of a call that is withdrawn takes others with it",
        "dpstats/budget/budget.py",
        "self.spent = Composed.of(entry.cost for entry in self.entries.values())",
        "self.spent = Composed()",
        f"{_BUDGET_CALLS}::test_withdrawn_charges_leave_the_others_and_the_limits_as_they_are",
    ),
)

# -- persons ----------------------------------------------------------------------------------------

_person = _of("persons")
_PERSON = "tests/frame/test_persons.py"
_PERSONS = (
    _person(
        "one row more of a person counts",
        "dpstats/frame/persons.py",
        "return np.asarray(total < self._most)",
        "return np.asarray(total <= self._most)",
        f"{_PERSON}::test_the_first_rows_of_every_person_count",
    ),
    _person(
        "every block counts the rows of a person anew",
        "dpstats/frame/persons.py",
        "total[named] = rank[named] + before[codes[named]]",
        "total[named] = rank[named]",
        f"{_PERSON}::test_files_are_one_table_whatever_their_order",
        f"{_PERSON}::test_the_first_rows_of_every_person_count",
    ),
    _person(
        "rows without a name count",
        "dpstats/frame/persons.py",
        "total = np.full(len(codes), self._most, dtype=np.int64)",
        "total = np.zeros(len(codes), dtype=np.int64)",
        f"{_PERSON}::test_whatever_names_a_person_is_distinguished_exactly_or_counts_nowhere",
    ),
    _person(
        "levels are counted in later rows of a person",
        "dpstats/call.py",
        "LevelCells(self.table, self.first, persons=persons)",
        "LevelCells(self.table)",
        "tests/frame/test_private_levels.py::test_a_level_of_one_person_is_not_released",
    ),
    _person(
        "levels of persons are counted row by row",
        "dpstats/frame/private_levels.py",
        "source, None if persons is None else first",
        "source, None",
        "tests/frame/test_private_levels.py::test_a_level_of_one_person_is_not_released",
        "tests/frame/test_private_levels.py::test_a_person_who_is_replaced_moves_two_counts_by_one",
    ),
    _person(
        "which row speaks for a person depends on how many persons came before",
        "dpstats/frame/persons.py",
        "np.array([_hash_of(name) for name in self._known], dtype=np.uint64)",
        "np.arange(len(self._known), dtype=np.uint64)",
        f"{_PERSON}::test_who_is_replaced_changes_one_of_the_rows_that_speak_for_persons",
    ),
    _person(
        "which row speaks for a person depends on where it stands",
        "dpstats/frame/persons.py",
        "mixed(contents ^ mixed(lots)[person])",
        "mixed(mixed(lots)[person])",
        f"{_PERSON}::test_who_is_replaced_changes_one_of_the_rows_that_speak_for_persons",
    ),
    _person(
        "a row weighs less, and not a person",
        "dpstats/score_rounds/person_rows.py",
        "slab.each(self._stacked_lengths(slab, np.sqrt(slab.weight)))",
        "slab.norm * np.sqrt(slab.weight)",
        "tests/score_rounds/test_person_rows.py::test_a_person_weighs_less_and_not_a_row",
    ),
    _person(
        "numbers of later rows are kept",
        "dpstats/frame/persons.py",
        "return np.where(self.keep[start:stop], self.table.numbers(name, start, stop), np.nan)",
        "return self.table.numbers(name, start, stop)",
        f"{_PERSON}::test_the_first_rows_of_every_person_count",
        f"{_PERSON}::test_a_call_with_persons_is_a_call_on_their_first_rows",
    ),
    _person(
        "levels of later rows are kept",
        "dpstats/frame/persons.py",
        "return np.where(self.keep[start:stop], self.table.codes(name, levels, start, stop), -1)",
        "return self.table.codes(name, levels, start, stop)",
        _PASSES,
    ),
    _person(
        "every part counts the rows of a person anew",
        "dpstats/frame/persons.py",
        "            keep = [walk.among(table) for table in part.tables([self.first.column])]",
        "            walk = _Walk(self.first)\n"
        "            keep = [walk.among(table) for table in part.tables([self.first.column])]",
        f"{_PERSON}::test_persons_count_the_same_in_every_engine",
    ),
    _person(
        "a person may have two kinds of names",
        "dpstats/frame/persons.py",
        "        if len(kinds := self._kinds) > 1:\n",
        "        if len(kinds := self._kinds) > 9:\n",
        f"{_PERSON}::test_a_person_is_not_a_number_here_and_text_there",
    ),
    _person(
        "the column of persons is not looked at",
        "dpstats/call.py",
        "first = None if unit.person is None else FirstRows(unit.person, unit.rows)",
        "first = None",
        f"{_PERSON}::test_a_call_with_persons_is_a_call_on_their_first_rows",
    ),
    _person(
        "a person counts as one row in a group",
        "dpstats/accounting/privacy.py",
        "return Privacy(self.mu * k, slack * (1 + 1e-9) if k > 1 else slack)",
        "return Privacy(self.mu * math.sqrt(k), slack * (1 + 1e-9) if k > 1 else slack)",
        *_charged("eptr_nw, gp"),
    ),
    _person(
        "a row costs a root of what a person costs",
        "dpstats/accounting/privacy.py",
        "return Privacy(self.mu / k)",
        "return Privacy(self.mu / math.sqrt(k))",
        *_charged("dp_lm, ssp"),
    ),
    _person(
        "a pure row costs what a person costs",
        "dpstats/accounting/privacy.py",
        "return PurePrivacy(self.at / k)",
        "return PurePrivacy(self.at)",
        *_charged("dp_mean, refined, pure"),
    ),
    _person(
        "deltas of a group add up without their growth",
        "dpstats/accounting/privacy.py",
        "slack = self.slack * float(terms.sum()) * (1 + 1e-12) if k > 1 else self.slack",
        "slack = self.slack * k",
        "tests/accounting/test_unit.py",
    ),
    _person(
        "slacks of a group do not grow",
        "dpstats/accounting/privacy.py",
        "slack = min(float(special.ndtr(special.ndtri(slack) + self.mu)) + self.slack, 1.0)",
        "slack = self.slack",
        "tests/accounting/test_unit.py",
    ),
)

# -- formulas and tables ----------------------------------------------------------------------------

_formula = _of("formulas")
_JOURNEY = "tests/frame/test_table.py::test_parts_survive_a_journey_and_tell_the_same"
_NO_CODE = "tests/frame/test_table.py::test_no_code_of_a_cell_runs"
_ROWS_OF = "tests/frame/test_rows.py"
_ALONE = f"{_ROWS_OF}::test_an_ordinary_row_in_place_of_another_changes_that_row_only"
_BLOCKS = f"{_ROWS_OF}::test_blocks_of_any_size_give_the_same_bits"
_FORMULAS = (
    _formula(
        "private rows are centred at their own mean",
        "dpstats/frame/formula/evaluate.py",
        'value if state["center"] is None else value - state["center"]',
        'value if state["center"] is None else value - np.nanmean(value)',
        _BLOCKS,
    ),
    _formula(
        "private rows are scaled by their own spread",
        "dpstats/frame/formula/evaluate.py",
        'return value if state["scale"] is None else value / state["scale"]',
        'return value if state["scale"] is None else value / np.nanstd(value)',
        _BLOCKS,
    ),
    _formula(
        "bases are learnt on private rows",
        "dpstats/frame/formula/evaluate.py",
        "expr.op, np.where(bad, 0.0, x) if any_bad else x, expr.value, states.get(expr.text, {})",
        "expr.op, np.where(bad, 0.0, x) if any_bad else x, expr.value, {}",
        _ALONE,
    ),
    _formula(
        "a formula may call what looks at all rows",
        "dpstats/frame/formula/grammar.py",
        '    *("log", "log2", "log10",',
        '    *("mean", "lag", "rank", "cumsum", "log", "log2", "log10",',
        "tests/frame/formula/test_grammar.py::test_what_is_not_row_by_row_is_refused",
    ),
    _formula(
        "a formula may take attributes of columns",
        "dpstats/frame/formula/grammar.py",
        "        if isinstance(node, ast.Attribute):\n            raise self.refuse(",
        "        if isinstance(node, ast.Attribute):\n            return self.row(node.value)\n"
        "            raise self.refuse(",
        "tests/frame/formula/test_grammar.py::test_what_is_not_row_by_row_is_refused",
    ),
    _formula(
        "options of a call may be columns",
        "dpstats/frame/formula/grammar.py",
        "            return _as_lists(ast.literal_eval(_Constants().visit(node)))\n",
        "            return 1.0 if isinstance(node, ast.Name) else _as_lists(ast.literal_eval(node))\n",
        "tests/frame/formula/test_grammar.py",
    ),
    _formula(
        "a cell that cannot be read raises",
        "dpstats/frame/rows.py",
        "block = suppress_private_errors(lambda: self.encoding.block(self.table, start, stop))",
        "block = self.encoding.block(self.table, start, stop)",
        f"{_ROWS_OF}::test_a_cell_that_cannot_be_read_empties_its_row_without_a_message",
        f"{_ROWS_OF}::test_a_reader_that_fails_gives_empty_rows_and_shows_no_data",
    ),
    _formula(
        "types of a text file are guessed from its cells",
        "dpstats/frame/text_files.py",
        "            column_types=dict.fromkeys(self.names, pa.binary()),\n",
        "",
        "tests/frame/test_text_files.py::test_a_cell_changes_its_own_row_alone",
    ),
    _formula(
        "a combination of levels is looked up beyond the table",
        "dpstats/frame/rows.py",
        "            position = position + times * codes[name]\n",
        "            position = position + codes[name]\n",
        "tests/frame/formula/test_natural.py::test_interaction_has_all_combinations_with_the_first_column_fastest",
    ),
    _formula(
        "errors of a reader quote cells",
        "dpstats/frame/source.py",
        "        return guarded(self.make)\n",
        "        return self.make()\n",
        "tests/frame/test_source.py::test_errors_of_a_function_are_not_shown",
    ),
    _formula(
        "a stream's warnings quote cells",
        "dpstats/frame/arrow_table.py",
        "silently(lambda: pa.table(data))",
        "suppress_private_errors(lambda: pa.table(data))",
        "tests/frame/test_quiet_reading.py::test_what_rows_warn_of_as_they_are_computed_is_not_shown",
    ),
    _formula(
        "what Dask computes warns of cells",
        "dpstats/frame/executors.py",
        "silently(lambda: dask.compute(*promises))",
        "suppress_private_errors(lambda: dask.compute(*promises))",
        "tests/frame/test_quiet_reading.py::test_what_rows_warn_of_as_they_are_computed_is_not_shown",
    ),
    _formula(
        "Dask is asked how many partitions there are",
        "dpstats/frame/source.py",
        "        inspect.getattr_static(data, name, missing) is not missing for name in names\n",
        "        getattr(data, name, missing) is not missing for name in names\n",
        "tests/frame/test_quiet_reading.py::"
        "test_a_dask_table_that_is_computed_to_count_its_partitions_shows_no_cell",
    ),
    _formula(
        "an error shows what was given, be it a table",
        "dpstats/arguments.py",
        "    if not isinstance(value, plain):\n        return called(value)\n",
        "",
        "tests/test_errors.py",
    ),
    _formula(
        "a ledger shows the data",
        "dpstats/budget/charge.py",
        'return ("" if library == "builtins" else f"{library} ") + type(data).__qualname__',
        'return ("" if library == "builtins" else f"{library} ") + repr(data)',
        f"{_BUDGET_CALLS}::test_labels_name_the_data_and_show_none_of_it",
    ),
    _formula(
        "labels of rows travel to workers",
        "dpstats/frame/pandas_table.py",
        "pd.DataFrame(columns, pd.RangeIndex(stop - start), copy=False)",
        "pd.DataFrame(columns, copy=False).set_axis(self._frame.index[start:stop])",
        f"{_JOURNEY}[text]",
    ),
    _formula(
        "categories that are objects travel to workers",
        "dpstats/frame/pandas_table.py",
        "cells = _portable(dtype.categories)",
        "cells = dtype.categories.array",
        f"{_JOURNEY}[categories]",
    ),
    _formula(
        "texts of any class travel to workers",
        "dpstats/frame/pandas_table.py",
        "return pd.array(_plain(column.to_numpy(object), TEXTS), dtype=dtype)",
        "return column.array",
        f"{_JOURNEY}[text]",
    ),
    _formula(
        "objects in sparse columns travel to workers",
        "dpstats/frame/pandas_table.py",
        "if pd.api.types.is_object_dtype(dtype):",
        "if dtype == object:",
        f"{_JOURNEY}[sparse objects]",
    ),
    _formula(
        "the type of a cell is hashed where it is looked for among levels",
        "dpstats/frame/table.py",
        "if id(type(v)) in known",
        "if hash(type(v)) and id(type(v)) in known",
        _NO_CODE,
    ),
    _formula(
        "the type of a cell is hashed where it names a person",
        "dpstats/frame/keys.py",
        "    if id(kind) in _WHOLE:",
        "    if hash(kind) and id(kind) in _WHOLE:",
        _NO_CODE,
    ),
    _formula(
        "the type of a cell is hashed where it may be text",
        "dpstats/frame/keys.py",
        "cell if id(type(cell)) in known",
        "cell if hash(type(cell)) and id(type(cell)) in known",
        _NO_CODE,
    ),
    _formula(
        "names of persons are rounded to the digits of the decimal context",
        "dpstats/frame/keys.py",
        'format(number, "f").rstrip("0")',
        'format(number.normalize(), "f")',
        "tests/frame/test_text_files.py::"
        "test_persons_differ_in_any_digit_whatever_the_context_of_decimals",
    ),
    _formula(
        "workers of two kinds are believed",
        "dpstats/frame/rows.py",
        "            if workers != self._arithmetic:\n",
        "            if workers is None:\n",
        "tests/test_engines.py::test_workers_that_compute_otherwise_stop_the_call",
    ),
    _formula(
        "an error in a pass says its cause",
        "dpstats/mechanism/passes.py",
        "done = suppress_private_errors(lambda: work(*parts))",
        "done = work(*parts)",
        "tests/mechanism/test_passes.py::test_a_block_that_cannot_be_read_ends_the_pass_without_saying_why",
    ),
    _formula(
        "rows travel with a pass",
        "dpstats/mechanism/passes.py",
        'private = ("_source", "_cached", "_memory", "_threads")',
        'private = ("_source", "_memory", "_threads")',
        "tests/mechanism/test_passes.py::test_what_travels_holds_no_row",
    ),
)

# -- passes and endings -----------------------------------------------------------------------------

_end = _of("passes and endings")
_HELD = f"{_FORGETTING}::test_an_error_between_releases_holds_no_rows"
_ENDED_AFTER = f"{_FORGETTING}::test_rows_are_forgotten_when_a_call_has_succeeded"
_ENDED = f"{_ENDED_AFTER}[dp_glm, anchored, binomial]"
_ENDS = (
    _end(
        "another number of rows is accepted in a later pass",
        "dpstats/frame/rows.py",
        "                read += table.n\n        if read != self.n:\n",
        "                read += table.n\n        if read < 0:\n",
        _PASSES,
    ),
    _end(
        "workers may find another number of rows in a later pass",
        "dpstats/frame/rows.py",
        "                bar.advance(rows)\n        if read != self.n:\n",
        "                bar.advance(rows)\n        if read < 0:\n",
        _PASSES,
    ),
    _end(
        "a part may have other rows than its persons",
        "dpstats/frame/persons.py",
        "        if n != len(self.keep):\n",
        "        if n < 0:\n",
        _PASSES,
    ),
    _end(
        "rows are not forgotten when a session ends",
        "dpstats/mechanism/session.py",
        "                self._rows.close()\n",
        "                pass\n",
        _ENDED,
    ),
    _end(
        "rows that are closed are kept",
        "dpstats/mechanism/passes.py",
        "        self._cached = self._memory = None\n",
        "",
        _ENDED,
    ),
    _end(
        "exact totals are kept when a session ends",
        "dpstats/mechanism/session.py",
        "            self._exact.clear()\n",
        "            pass\n",
        f"{_ENDED_AFTER}[eptr_bayes, sums]",
    ),
    _end(
        "errors leave a session as they are",
        "dpstats/mechanism/session.py",
        "                if error is not None:\n                    without_trace(error)\n",
        "",
        f"{_HELD}[dp_glm, anchored, binomial-an error of the package]",
    ),
    _end(
        "Ctrl-C leaves a session as it is",
        "dpstats/mechanism/session.py",
        "                if error is not None:\n",
        "                if isinstance(error, Exception):\n",
        "tests/mechanism/test_left_behind.py::test_what_is_closed_holds_no_integer_of_the_data",
    ),
    _end(
        "an interruption of the end of a session is left as it is",
        "dpstats/errors.py",
        "        without_trace(stopped)\n",
        "",
        "tests/mechanism/test_left_behind.py::"
        "test_an_interruption_while_rows_are_forgotten_leaves_no_session",
    ),
    _end(
        "a time limit at the end of a session is left as it is",
        "dpstats/errors.py",
        "        except BaseException as error:\n            stopped = error\n",
        "        except KeyboardInterrupt as error:\n            stopped = error\n",
        "tests/mechanism/test_left_behind.py::"
        "test_an_interruption_while_rows_are_forgotten_leaves_no_session[TimeoutError]",
    ),
    _end(
        "a stream that fails is no reading that fails",
        "dpstats/frame/arrow_table.py",
        "            raise PassError(\n",
        "            raise SchemaError(\n",
        "tests/frame/test_source.py::test_a_stream_that_fails_stays_charged",
    ),
    _end(
        "the traceback of an error is kept",
        "dpstats/errors.py",
        "error.__traceback__ = error.__context__ = error.__cause__ = None",
        "error.__context__ = error.__cause__ = None",
        f"{_HELD}[dp_glm, anchored, binomial-an error of the package]",
    ),
    _end(
        "what an error arose from is kept",
        "dpstats/errors.py",
        "error.__traceback__ = error.__context__ = error.__cause__ = None",
        "error.__traceback__ = error.__cause__ = None",
        f"{_HELD}[dp_glm, anchored, binomial-an error of the package]",
    ),
    _end(
        "an error keeps what an estimator of one's own has said",
        "dpstats/models/eptr_own/releases.py",
        "    with ErrorsWithoutTrace():\n",
        "    if True:\n",
        f"{_FORGETTING}::test_an_error_beside_an_estimator_of_ones_own_holds_nothing",
    ),
)

# -- the papers' methods ----------------------------------------------------------------------------

_paper = _of("papers")
_CONSTANTS = (
    "tests/test_sensitivities.py::test_a_papers_test_has_the_papers_sensitivity_and_its_noise"
)
_PAPERS = (
    _paper(
        "Algorithm 3 has half its sensitivity",
        "dpstats/models/eptr_bayes/releases.py",
        "PapersSafety(target, 1, 2 / n * math.sqrt(",
        "PapersSafety(target, 1, 1 / n * math.sqrt(",
        *_replayed("eptr_bayes, paper"),
    ),
    _paper(
        "Algorithm 4 has R^2 C, and the diameter is dropped",
        "dpstats/models/eptr_linear/releases.py",
        "sensitivity = max(papers, diameter_with_floats(n, d, limits)) / target",
        "sensitivity = papers / 4 / target",
        *_replayed("eptr_lm, paper"),
    ),
    _paper(
        "Algorithm 4 has half its sensitivity",
        "dpstats/models/eptr_linear/releases.py",
        "papers = 4 * limits.radius**2 * limits.coef",
        "papers = 2 * limits.radius**2 * limits.coef",
        f"{_CONSTANTS}[Algorithm 4]",
    ),
    _paper(
        "Algorithm 5 has half its sensitivity",
        "dpstats/models/eptr_nw/releases.py",
        "return PapersSafety(target, 2, 4 / target)",
        "return PapersSafety(target, 2, 2 / target)",
        f"{_CONSTANTS}[Algorithm 5]",
    ),
    _paper(
        "points of a curve do not share the budget of Algorithm 5",
        "dpstats/models/eptr_nw/fit.py",
        "each = ApproximatePrivacy(terms.epsilon / count, terms.delta / count)",
        "each = ApproximatePrivacy(terms.epsilon, terms.delta)",
        "tests/models/eptr_nw/test_eptr_nw.py::test_several_points_of_the_paper_share_the_budget_and_warn",
    ),
    _paper(
        "the papers' second moments have 1.2 R^2",
        "dpstats/mechanism/session.py",
        "(2 if papers else math.sqrt(2)) * steps**2,",
        "(1.2 if papers else math.sqrt(2)) * steps**2,",
        "tests/test_sensitivities.py::"
        "test_the_papers_second_moments_are_released_for_twice_the_squared_radius",
    ),
    _paper(
        "the papers' noise is halved",
        "dpstats/propose_test/paper.py",
        "        alpha / mu,\n",
        "        alpha / mu / 2,\n",
        f"{_CONSTANTS}[Algorithm 3]",
    ),
    _paper(
        "the papers' test answers two levels too early",
        "dpstats/propose_test/paper.py",
        "    margin = 1 + 2 / epsilon * math.log(max(1 / delta, 1 / epsilon))\n    half",
        "    margin = 2 / epsilon * math.log(max(1 / delta, 1 / epsilon)) - 1\n    half",
        f"{_CONSTANTS}[Algorithm 3]",
    ),
    _paper(
        "the papers' test is twice as steep",
        "dpstats/propose_test/paper.py",
        "out = special.expit(self.epsilon / 2 * (gamma - self.margin))",
        "out = special.expit(self.epsilon * (gamma - self.margin))",
        f"{_CONSTANTS}[Algorithm 3]",
    ),
    _paper(
        "the papers' plan goes on where its proof ends",
        "dpstats/propose_test/paper.py",
        "    if epsilon > 2 and not allow_unproved:\n",
        "    if epsilon > 99 and not allow_unproved:\n",
        f"{_PTR}::test_the_papers_calibration_is_refused_beyond_its_proof_and_where_it_is_false",
    ),
    _paper(
        "data are safe below the threshold that the papers count on",
        "dpstats/propose_test/safety.py",
        "return max(statistic - self.threshold - self.step, 0.0) / self.step",
        "return max(statistic - self.threshold / 4, 0.0) / self.step",
        *_replayed("eptr_bayes, paper", "eptr_lm, paper", "eptr_nw, paper"),
    ),
    _paper(
        "Algorithm 4 takes a row for half of what it moves an eigenvalue",
        "dpstats/models/eptr_linear/releases.py",
        "return PapersSafety(target, 2 * limits.radius**2, sensitivity)",
        "return PapersSafety(target, limits.radius**2 / 2, sensitivity)",
        *_replayed("eptr_lm, paper"),
    ),
    _paper(
        "Algorithm 5 takes a row for half of what it moves a degree",
        "dpstats/models/eptr_nw/releases.py",
        "return PapersSafety(target, 2, 4 / target)",
        "return PapersSafety(target, 0.5, 4 / target)",
        *_replayed("eptr_nw, paper"),
    ),
)

# -- private rows alone -----------------------------------------------------------------------------

_alone = _of("alone")
_COLUMNS = "tests/column_search/test_releases.py"
_LATER = "tests/mechanism/test_later_session.py"
_WEIGHED = "tests/score_rounds/test_whitening.py"
_BOXED = "tests/frame/test_rows.py"
_FITTED = "tests/models/test_alone.py"
_RARE = "tests/models/test_rare_levels.py"
_ALONE = (
    _alone(
        "a search that is broken off stands for a scale of one",
        "dpstats/column_search/search.py",
        "    rare.so_far.found = ColumnScale(location, None)\n",
        "",
        "tests/column_search/test_search.py::"
        "test_what_was_found_is_known_where_a_search_is_broken_off",
    ),
    _alone(
        "the last moments are cut by lengths in other coordinates",
        "dpstats/score_rounds/whitening.py",
        "    farther = _cut(best.lengths, n, d, mu * math.sqrt(_FINAL))\n",
        "    farther = _cut(last.lengths, n, d, mu * math.sqrt(_FINAL))\n",
        "tests/models/test_alone.py::test_a_level_that_nobody_sees_leaves_the_errors_of_others",
    ),
    _alone(
        "a move that followed noise is read as second moments",
        "dpstats/models/linear/unforeseen.py",
        "    if not along > max(surely + min(own, foreseen), _MORE * foreseen):\n",
        "    if not along > max(surely, _MORE * foreseen):\n",
        "tests/models/linear/test_dp_lm.py::test_scores_tell_of_rows_that_second_moments_cut",
    ),
    _alone(
        "predictions follow a column that was left out",
        "dpstats/report/result.py",
        "        return found if averages else np.where(self.follows(rows), found, np.nan)\n",
        "        return found\n",
        "tests/margins/test_averages.py::test_predictions_do_not_follow_a_column_that_was_left_out",
    ),
    _alone(
        "more rows of a level lie along single columns",
        "dpstats/numerics/public_rows.py",
        "        return np.asarray((self.x.T * times) @ self.x)\n",
        "        return np.diag(few * 3 / len(there) * (self.x**2).max(axis=0))\n",
        "tests/models/glm/test_dp_glm.py::test_a_number_beside_levels_may_have_any_zero",
    ),
    _alone(
        "steps go as far as second moments of cut rows say",
        "dpstats/models/linear/rounds.py",
        "                self.unforeseen, self.since = found, len(self.steps)\n",
        "                pass\n",
        "tests/models/linear/test_dp_lm.py::"
        "test_far_rows_that_second_moments_cut_do_not_make_steps_too_long",
    ),
    _alone(
        "coordinates do not follow the information",
        "dpstats/models/glm/rounds.py",
        "        if model is None or step.error > _UNSURE:\n",
        "        if True:\n",
        f"{_FITTED}::test_a_steep_slope_to_a_rare_outcome_has_errors",
    ),
    _alone(
        "a step that ends elsewhere is averaged in",
        "dpstats/score_rounds/estimate.py",
        "    alike = [] if apart else [step for step in steps[:-1] if _agree(step, last)]\n",
        "    alike = [] if apart or not _agree(steps[-2], last) else steps[:-1]\n",
        "tests/score_rounds/test_estimate.py::test_a_step_that_ends_elsewhere_is_not_averaged_in",
    ),
    _alone(
        "few ones among zeros are asked for by rough counts",
        "dpstats/score_rounds/first_look.py",
        "boxes, closely=True)",
        "boxes)",
        f"{_FITTED}::test_a_response_of_few_ones_is_fitted_or_said_to_be_hidden[1000-0.05]",
    ),
    _alone(
        "rounds follow the scale of the zeros, and forget the few that differ",
        "dpstats/models/linear/losses.py",
        "        if look is None or look.alike or not 0 < look.others < _FEW:\n",
        "        if True:\n",
        f"{_FITTED}::test_few_responses_of_any_size_are_not_cut_by_the_zeros",
    ),
    _alone(
        "levels that are compared with lost ones have errors",
        "dpstats/models/linear/prepare.py",
        "            unseen |= compared_with(self.design, self.nothing)\n",
        "            pass\n",
        "tests/models/feols/test_dp_feols.py::"
        "test_levels_that_are_compared_with_lost_ones_have_no_errors",
    ),
    _alone(
        "a mark that next to no row has is left out of a linear fit",
        "dpstats/score_rounds/first_look.py",
        "rare = response and j in marks and one.location < 0.5",
        "rare = False",
        "tests/models/test_alone.py::"
        "test_a_column_that_is_zero_or_one_is_found_where_few_rows_are_one[3000-0.01-8]",
    ),
    _alone(
        "levels of numbers are taken to be in their order",
        "dpstats/frame/table.py",
        "order = np.argsort(known)",
        "order = np.arange(len(known))",
        "tests/frame/test_design.py::test_levels_of_numbers_keep_their_order_too",
    ),
    _alone(
        "errors of means are those of few public rows",
        "dpstats/models/gaussian/mean_spread.py",
        "resolved=bool((variances > _TOLD",
        "resolved=seen.resolved and bool((variances > _TOLD",
        "tests/models/gaussian/test_dp_mvnorm.py::"
        "test_errors_of_means_beside_few_public_rows_are_those_of_private_rows[0]",
    ),
    _alone(
        "public rows that few decide are called another population",
        "dpstats/models/glm/fit.py",
        "if unlike(np.eye(d)) and unlike(rounds.like_cut_public_rows()):",
        "if unlike(np.eye(d)):",
        "tests/models/glm/test_dp_glm.py::"
        "test_a_rare_outcome_that_a_square_tells_is_no_other_population[2000]",
    ),
    _alone(
        "a generalised fit does not ask public rows where long scores point",
        "dpstats/models/glm/rounds.py",
        "return self._with_public(self.far_scores(tail, expected=not self.trials))",
        "return self.far_scores(tail, expected=not self.trials)",
        "tests/models/glm/test_dp_glm.py::test_a_rate_that_bends_far_out_is_allowed_for[4000-1000-seeds1]",
    ),
    _alone(
        "a last step that is noise is damped",
        "dpstats/models/glm/rounds.py",
        "self._by_chance(sd) if last else 0.0",
        "0.0",
        "tests/models/glm/test_dp_glm.py::test_a_far_public_row_that_noise_moves_costs_no_error[3]",
    ),
    _alone(
        "columns that are not there have a part in coordinates",
        "dpstats/models/glm/rounds.py",
        "slice(None) if nothing is None else ~nothing",
        "slice(None)",
        f"{_RARE}::test_columns_that_hardly_any_row_has_leave_a_steep_fit_as_it_is",
    ),
    _alone(
        "rows of a rare level are cut for the information and not for the score",
        "dpstats/models/glm/rounds.py",
        "else rows.shown_above",
        "else rows.surely_above",
        f"{_RARE}::test_a_level_that_few_rows_have_leaves_other_effects_as_they_are[0]",
    ),
    _alone(
        "an effect of which noise is all that is seen has any size",
        "dpstats/models/glm/rounds.py",
        "np.maximum(variance - 1, 0.0) / _USUAL_EFFECT**2",
        "0.0 * variance",
        f"{_RARE}::test_a_level_that_noise_hides_has_an_effect_of_a_usual_size",
    ),
    _alone(
        "rows of which few are public are whitened by these alone",
        "dpstats/models/linear/view.py",
        "moments.to_whiten_with()",
        "moments.gram",
        f"{_RARE}::test_a_first_level_that_one_public_row_has_does_not_spoil_the_others",
    ),
    _alone(
        "moments of a level that few public rows have are moved towards these",
        "dpstats/models/linear/prepare.py",
        "        used = used.held(*_rare_levels(moments, root, radius), taken)\n",
        "        pass\n",
        f"{_RARE}::test_what_is_compared_with_a_rare_first_level_keeps_to_its_errors",
    ),
    _alone(
        "of a first level that few rows have the release is taken as it is",
        "dpstats/models/linear/prepare.py",
        "np.maximum(squares / radius**2, 1.0)",
        "np.ones(len(size))",
        f"{_RARE}::test_a_first_level_that_one_public_row_has_does_not_spoil_the_others",
    ),
    _alone(
        "a constant beside hidden levels has an error",
        "dpstats/models/linear/prepare.py",
        "            hidden[constant] |= first_hidden(self.design, hidden)",
        "            pass",
        f"{_RARE}::test_a_constant_that_stands_for_a_hidden_first_level_has_no_error",
    ),
    _alone(
        "laws of tails are far from one another",
        "dpstats/score_rounds/tail_laws.py",
        "(0.36, 20)",
        "(0.36, 3)",
        "tests/score_rounds/test_tails.py::"
        "test_what_is_far_out_follows_the_counts_and_not_a_grid_of_laws",
    ),
    _alone(
        "levels anywhere make a narrow direction one of these",
        "dpstats/score_rounds/public_guide.py",
        "levels |= bool(lie_in(back, narrowest[:, None], of_few(design))[0])",
        "levels |= bool(of_few(design).any())",
        "tests/score_rounds/test_notes.py::"
        "test_a_direction_of_numbers_is_narrow_whatever_levels_stand_beside_it",
    ),
    _alone(
        "a constant in the response is part of its scale",
        "dpstats/models/linear/prepare.py",
        "    about = 0.0 if constant is None else float(moments.cross[constant]) ** 2\n",
        "    about = 0.0 if constant is None else 0.0\n",
        "tests/models/linear/test_dp_lm.py::"
        "test_a_constant_added_to_the_response_moves_the_intercept_alone",
    ),
    _alone(
        "typical rows of levels are normal ones",
        "dpstats/models/glm/typical.py",
        "    if groups:\n",
        "    if False:\n",
        f"{_RARE}::test_a_level_whose_rate_is_another_is_found_among_many",
        f"{_RARE}::test_a_number_that_is_zero_in_nearly_all_rows_is_found",
    ),
    _alone(
        "slopes of levels have a usual size too",
        "dpstats/score_rounds/levels.py",
        "bool(c.parts) and all(",
        "bool(c.parts) and any(",
        f"{_RARE}::test_a_usual_size_is_one_of_effects_that_have_no_unit",
    ),
    _alone(
        "information that has clearly changed is averaged",
        "dpstats/models/glm/model.py",
        "unforeseen2 * diagonal, changed2)",
        "unforeseen2 * diagonal, 0.0)",
        "tests/models/glm/test_model.py::test_what_has_clearly_changed_since_is_not_averaged",
    ),
    _alone(
        "a direction of few rows is stretched until all of them are cut",
        "dpstats/score_rounds/whitening.py",
        "        return squeezed or self.smallest >= _GROWN * before.smallest\n",
        "        return True\n",
        f"{_FITTED}::test_a_slope_of_a_rare_level_is_not_stretched_until_all_its_rows_are_cut",
    ),
    _alone(
        "cuts follow the many alike and take the others",
        "dpstats/models/linear/losses.py",
        "        return [loss_of(share, sizes)] if share else []\n",
        "        return []\n",
        f"{_FITTED}::test_ones_among_zeros_are_not_taken_for_outliers",
    ),
    _alone(
        "cuts of a linear fit do not know how long rows are",
        "dpstats/models/linear/losses.py",
        "            parts.append(loss_of_long_rows(self.ready.longer, residual, some))\n",
        "",
        "tests/models/test_rare_levels.py::test_cuts_follow_what_they_may_lose",
    ),
    _alone(
        "cuts of zeros and ones do not know of rare marks",
        "dpstats/models/linear/losses.py",
        "            parts.append(lambda length: _ONE_WAY * of_marks(length))\n",
        "            assert of_marks is not None\n",
        "tests/models/test_rare_levels.py::test_cuts_follow_what_they_may_lose",
    ),
    _alone(
        "cuts do not know that few rows make the mean square of public residuals",
        "dpstats/models/linear/losses.py",
        "        if square > 0:\n",
        "        if square > np.inf:\n",
        "tests/models/test_rare_levels.py::test_few_rows_that_have_a_response_are_not_cut_away",
    ),
    _alone(
        "what a cut takes off a variance is measured by that of most rows",
        "dpstats/models/gaussian/tail_cuts.py",
        "        left = max(self.variance, beyond * length**2)\n",
        "        left = max(self.variance, 0.0 * beyond)\n",
        "tests/models/gaussian/test_alone.py::"
        "test_rows_with_a_code_do_not_make_errors_many_times_as_long",
    ),
    _alone(
        "few public rows of a level are believed about its slopes",
        "dpstats/score_rounds/public_guide.py",
        "        if len(own) > 1 and rows < _FEW * len(own):\n",
        "        if len(own) > 1 and rows < 0:\n",
        "tests/models/test_rare_levels.py::"
        "test_slopes_of_a_level_that_few_public_rows_tell_of_have_errors",
    ),
    _alone(
        "public rows of a level guide a linear fit however far the private ones are",
        "dpstats/models/linear/fit.py",
        "    if mark is not None and ready.taken > SHORTENED:\n",
        "    if mark is not None and ready.taken > 1:\n",
        "tests/models/test_rare_levels.py::"
        "test_slopes_of_a_level_that_few_public_rows_tell_of_have_errors[dp_lm]",
    ),
    _alone(
        "scores of persons are expected to be as long as the mean of the response is",
        "dpstats/models/linear/prepare.py",
        "_public_scale(moments, seen.residual)  # as rows are seen, not persons",
        "_public_scale(replace(moments, cross=None), 0.0)",
        "tests/models/feols/test_dp_feols.py::"
        "test_a_constant_added_to_the_response_changes_no_other_coefficient",
    ),
    _alone(
        "what the last cut takes off tells nothing of the tail",
        "dpstats/models/linear/rounds.py",
        "        if made.excess is not None:\n",
        "        if made.excess is not None and not plan.last:\n",
        "tests/models/linear/test_far_rows.py::test_what_the_last_cut_takes_off_is_in_errors",
    ),
    _alone(
        "what the last cut takes off is taken for what laws foresee, whatever counts say",
        "dpstats/score_rounds/tails.py",
        "        part *= own / usual  # counts may say less of the tail, or more, than laws do\n",
        "",
        "tests/score_rounds/test_tails.py::test_what_a_cut_takes_off_as_counts_say_changes_nothing",
    ),
    _alone(
        "long scores may have as much of the information as of all squares",
        "dpstats/models/linear/rounds.py",
        "cut.unit**2, most=most)",
        "cut.unit**2)",
        "tests/models/linear/test_far_rows.py::"
        "test_errors_that_grow_with_a_column_are_seen_to_lean",
    ),
    _alone(
        "errors with instruments do not allow for scores that lean",
        "dpstats/models/feols/fit.py",
        "    return np.zeros(len(rounds.anchor)) if lean is None else lean.allowed * lean.direction\n",
        "    return np.zeros(len(rounds.anchor))\n",
        "tests/models/linear/test_far_rows.py::test_instruments_allow_for_scores_that_lean",
    ),
    _alone(
        "one round is enough however much its cut takes",
        "dpstats/models/linear/rounds.py",
        "return max(allowed / cut.unit * math.sqrt(n), left) > _LITTLE",
        "return left > _LITTLE",
        f"{_SPARED}::"
        "test_one_round_is_enough_near_a_public_fit_where_its_cut_takes_next_to_nothing",
    ),
    _alone(
        "one round is enough whatever second moments lack",
        "dpstats/models/linear/rounds.py",
        "return max(allowed / cut.unit * math.sqrt(n), left) > _LITTLE",
        "return allowed / cut.unit * math.sqrt(n) > _LITTLE",
        f"{_SPARED}::test_a_second_round_follows_where_second_moments_may_lack_what_far_rows_have",
    ),
    _alone(
        "one round is enough however far its step goes",
        "dpstats/models/linear/rounds.py",
        "        if not explained(step, plan.cut, self.ready.m, self.session.n):\n",
        "        if step is None:\n",
        f"{_SPARED}::"
        "test_one_round_is_enough_near_a_public_fit_where_its_cut_takes_next_to_nothing",
    ),
    _alone(
        "one round is enough wherever far scores point",
        "dpstats/models/linear/rounds.py",
        "return self._leaning(long, seen, plan.cut, mu, public) is None",
        "return long is not None",
        f"{_SPARED}::test_a_second_round_follows_where_far_scores_lean",
    ),
    _alone(
        "no third round follows where a long way is cut short",
        "dpstats/models/linear/rounds.py",
        "(self._still_moving() or self._far_to_go())",
        "self._still_moving()",
        "tests/models/linear/test_far_rows.py::"
        "test_a_third_round_follows_where_a_long_way_is_cut_short",
    ),
    _alone(
        "steps are averaged alike in all directions",
        "dpstats/score_rounds/estimate.py",
        "variance.append(step.variance + off**2 * gone)",
        "variance.append(step.variance + 0 * off * gone)",
        "tests/score_rounds/test_estimate.py::"
        "test_a_long_step_counts_less_along_its_way_than_across_it",
    ),
    _alone(
        "no step is known to be off by a part of its way",
        "dpstats/models/linear/rounds.py",
        "step = replace(step, off=self._may_be_off(plan.cut))",
        "step = replace(step, off=0.0)",
        "tests/models/linear/test_far_rows.py::"
        "test_a_third_round_follows_where_a_long_way_is_cut_short",
    ),
    _alone(
        "what is left of one round does not go into the same sums",
        "dpstats/score_rounds/rounds.py",
        "    return replace(second, score=score)\n",
        "    return replace(second, score=replace(score, noise_sd=other.noise_sd))\n",
        "tests/score_rounds/test_rows.py::"
        "test_two_releases_of_one_score_are_averaged_by_their_variances",
    ),
    _alone(
        "rows that public ones have not whitened are not read again",
        "dpstats/models/linear/prepare.py",
        "(mean / values[0] - 1) * noise < _NEXT_TO_NOTHING",
        "(mean / values[0] - 1) * noise < np.inf",
        f"{_SPARED}::test_rows_that_public_ones_have_whitened_well_are_not_read_again",
    ),
    _alone(
        "passes are spared where noise is next to nothing",
        "dpstats/models/linear/planning.py",
        "spares = best[4] or n * d >= _LARGE_TABLE\n",
        "spares = True\n",
        f"{_SPARED}::test_one_round_is_planned_for_large_tables_only",
    ),
    _alone(
        "errors do not allow for what one round leaves of its way",
        "dpstats/models/linear/rounds.py",
        "            found = replace(found, left=(*found.left, left))\n",
        "            found = replace(found, left=(*found.left, 0 * left))\n",
        f"{_SPARED}::test_errors_allow_for_what_one_round_leaves_of_its_way",
    ),
    _alone(
        "many outliers excuse a body that foresees more than is counted",
        "dpstats/score_rounds/tails.py",
        "    excused = (lacking * of_least)[:, None] > square\n",
        "    excused = (lacking * of_least)[:, None] > np.inf\n",
        "tests/score_rounds/test_tails.py::"
        "test_many_outliers_excuse_no_body_that_foresees_more_than_is_counted",
    ),
    _alone(
        "public rows of another population tell where scores lean",
        "dpstats/score_rounds/leaning.py",
        "    if apart > gaussian_square(",
        "    if apart > np.inf * gaussian_square(",
        "tests/score_rounds/test_leaning.py::"
        "test_public_rows_show_where_scores_lean_that_noise_hides",
    ),
    _alone(
        "cuts of ones and zeros do not know how long rows are",
        "dpstats/models/glm/rounds.py",
        ", rare, start.longer",
        ", rare",
        "tests/models/test_rare_levels.py::test_the_effect_of_a_rarer_level_keeps_to_its_errors",
    ),
    _alone(
        "a linear fit that leaves public rows out forgets what it has spent on them",
        "dpstats/models/linear/fit.py",
        "fit, session = from_private_rows(task, rows, total, noise, session)",
        "fit, session = from_private_rows(task, rows, total, noise, None)",
        "tests/models/linear/test_dp_lm.py::"
        "test_public_rows_of_other_units_are_left_out_where_they_are_no_guide",
    ),
    _alone(
        "a generalised fit that leaves public rows out forgets what it has spent on them",
        "dpstats/models/glm/methods.py",
        "return _without_public(task, rows, total, noise, guided, session)",
        "return _without_public(task, rows, total, noise, guided, None)",
        "tests/models/glm/test_dp_glm.py::"
        "test_public_rows_of_other_units_are_left_out_where_they_are_no_guide",
    ),
    _alone(
        "noise is shown where hardly a row could be used",
        "dpstats/models/gaussian/fit.py",
        "    if lost or (not points.m and hardly_any(",
        "    if lost or (points.m and hardly_any(",
        "tests/models/gaussian/test_alone.py::"
        "test_where_hardly_a_row_can_be_used_no_number_is_made_of_noise[mvnorm]",
    ),
    _alone(
        "steps that turn back go all the way",
        "dpstats/models/glm/estimate.py",
        "    if not turned.any():\n        return step\n    some",
        "    if True:\n        return step\n    some",
        "tests/models/glm/test_estimate.py::test_a_step_that_turns_back_goes_half_of_the_way",
    ),
    _alone(
        "columns that noise hides are taken to be as public rows have them",
        "dpstats/score_rounds/public_guide.py",
        "    hidden = share < np.minimum(",
        "    hidden = share < 0 * np.minimum(",
        "tests/score_rounds/test_notes.py::"
        "test_columns_that_private_rows_hardly_vary_in_are_told_by_themselves",
    ),
    _alone(
        "errors of a mean are those of public rows where private ones surely vary more",
        "dpstats/models/gaussian/mean_fit.py",
        "        grown, taken, own = own.grown, own.mean_lost, None\n",
        "        own = None\n",
        "tests/models/gaussian/test_dp_mvnorm.py::"
        "test_a_column_that_varies_more_than_public_rows_say_has_errors_of_its_own",
    ),
    _alone(
        "information from further up the way counts as if it were that of the end",
        "dpstats/models/glm/estimate.py",
        "max(own, level[-1])",
        "level[-1]",
        "tests/models/glm/test_estimate.py::test_information_is_pooled_by_noise_and_drift",
    ),
    _alone(
        "counts of several columns are charged as one",
        "dpstats/column_search/releases.py",
        "                memberships=len(at),\n",
        "                memberships=1,\n",
        f"{_COLUMNS}::test_q_counts_cost_q_shares_and_have_sensitivity_root_q",
    ),
    _alone(
        "counts of values below points have no noise",
        "dpstats/column_search/releases.py",
        "            values[at], noise_sd[at] = release.value, release.noise_sd",
        "            values[at], noise_sd[at] = exact, release.noise_sd",
        f"{_COLUMNS}::test_what_was_counted_ahead_is_charged_when_it_is_asked",
        "tests/test_lattice.py::"
        "test_a_result_is_a_function_of_its_releases_and_of_public_things"
        "[lm alone-another sample]",
    ),
    _alone(
        "of questions of one price only the first is charged",
        "dpstats/column_search/releases.py",
        "self._spend(share * price * len(at)) for price",
        "self._spend(share * price).share(len(at)) for price",
        *_replayed("dp_lm, anchored, alone"),
        f"{_COLUMNS}::test_q_counts_cost_q_shares_and_have_sensitivity_root_q",
    ),
    _alone(
        "a dear question costs no more than a plain one",
        "dpstats/column_search/releases.py",
        "self._spend(share * price * len(at)) for price",
        "self._spend(share * len(at)).share(price) for price",
        f"{_COLUMNS}::test_prices_are_released_apart",
    ),
    _alone(
        "a row is counted in two columns of a search",
        "dpstats/column_search/rows.py",
        "                found.append(np.cumsum(held[:-1]).astype(np.float64))",
        "                found.append(2 * np.cumsum(held[:-1]).astype(np.float64))",
        "tests/column_search/test_rows.py",
    ),
    _alone(
        "rows without weight or response are counted",
        "dpstats/column_search/rows.py",
        "            values[k] = np.where(used, column, np.nan)",
        "            values[k] = column",
        "tests/column_search/test_rows.py",
    ),
    _alone(
        "exact counts of a search are kept",
        "dpstats/column_search/releases.py",
        "        self._known.clear()\n",
        "",
        f"{_COLUMNS}::test_exact_counts_are_forgotten",
    ),
    _alone(
        "a later session starts with the whole total",
        "dpstats/mechanism/session.py",
        "            self.total = total.share(after.left_of_granted)\n",
        "",
        f"{_LATER}::test_shares_are_of_what_was_left",
        *_replayed("dp_lm, anchored, alone"),
    ),
    _alone(
        "a third session forgets what the first has spent",
        "dpstats/mechanism/session.py",
        "return (self.total.mu / self.granted.mu) ** 2 * self.left",
        "return self.left",
        f"{_LATER}::test_all_sessions_together_spend_no_more_than_the_total",
    ),
    _alone(
        "a slack is used by every session of a call",
        "dpstats/mechanism/session.py",
        "self._slack_used: bool = after is not None and after._slack_used",
        "self._slack_used: bool = False",
        f"{_LATER}::test_a_slack_is_used_once_by_all_sessions",
    ),
    _alone(
        "long rows weigh less after they were cut",
        "dpstats/score_rounds/rows.py",
        "            r, h, e = r * weight, h * weight, e * np.sqrt(weight)",
        "            r, h, e = r / weight, h / weight, e * np.sqrt(weight)",
        f"{_WEIGHED}::test_sums_of_rows_that_weigh_less_are_those_by_hand",
    ),
    _alone(
        "limits cut what is larger, and say nothing of what is smaller",
        "dpstats/frame/rows.py",
        "                outside |= kept != numbers[name]",
        "                outside |= kept < numbers[name]",
        f"{_BOXED}::test_numbers_outside_their_box_are_cut_and_said_to_be_cut",
    ),
    _alone(
        "a column is cut for what is made of it, and not itself",
        "dpstats/frame/rows.py",
        "                    x[:, design.bare[name]] = kept\n",
        "                    pass\n",
        f"{_BOXED}::test_numbers_outside_their_box_are_cut_and_said_to_be_cut",
    ),
    _alone(
        "names that a single row has may be shown",
        "dpstats/mechanism/conditional.py",
        "    return 1 + noise_sd * math.sqrt(2 * math.log(1 / chance)) * (1 + 1e-9)",
        "    return 1 + noise_sd",
        _LATER,
    ),
    _alone(
        "the columns of a private table are read before the call is charged",
        "dpstats/models/linear/dp_lm.py",
        "        check_written(formula, weights, offset)\n",
        "        from dpstats.frame import private_design\n"
        "        private_design(formula, data, limits, weights, offset)\n",
        "tests/contracts/test_contracts.py::"
        "test_a_refused_call_touches_no_data_and_charges_nothing[dp_lm, anchored, alone]",
    ),
)

# -- averages over private rows -----------------------------------------------------------------------

_average = _of("averages")
_MOVES = "tests/margins/test_averages.py::test_no_total_moves_farther_than_is_claimed"
_AVERAGES = (
    _average(
        "a value is taken to move from one side alone",
        "dpstats/margins/releases.py",
        "totals.values, 2.0 * root * fine,",
        "totals.values, root * fine,",
        f"{_MOVES}[predictions-linear]",
    ),
    _average(
        "the values of a row are taken to be one",
        "dpstats/margins/releases.py",
        "        root = math.sqrt(k)\n",
        "        root = 1.0\n",
        f"{_MOVES}[slopes-logit of curves]",
    ),
    _average(
        "values beyond their range are summed as they are",
        "dpstats/margins/rows.py",
        "            inside = np.clip(away, -1.0, 1.0)",
        "            inside = away",
        f"{_MOVES}[predictions-linear]",
    ),
    _average(
        "gradients are not cut",
        "dpstats/margins/rows.py",
        "                long |= cut_to_grid("
        "one, np.zeros(len(length), np.int32), length, float(most), fine)",
        "                one[...] = np.rint(one / most * fine)",
        f"{_MOVES}[predictions-linear]",
    ),
    _average(
        "the charge of an average is that of none",
        "dpstats/margins/averages.py",
        "    with call.charged(call.text(fit.design.formula, given), data) as charged:",
        "    from dataclasses import replace\n"
        "    from dpstats.accounting.privacy import Privacy\n"
        "    free = replace(call, total=Privacy(1e-9))\n"
        "    with free.charged(call.text(fit.design.formula, given), data) as charged:",
        "tests/margins/test_averages.py::test_they_are_charged_before_a_row_is_read",
    ),
)

MUTATIONS: tuple[Mutation, ...] = (
    *_NOISE,
    *_LATTICE,
    *_ROWS,
    *_CLAIMS,
    *_TESTS,
    *_ACCOUNTING,
    *_CHARGED,
    *_PERSONS,
    *_FORMULAS,
    *_ENDS,
    *_PAPERS,
    *_ALONE,
    *_AVERAGES,
)
