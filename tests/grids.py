"""Grids of cases that are too many to be run by default."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

import pytest


def thinned(*axes: Collection[Any], of: int) -> list[Any]:
    """Cases of all axes together: one ``of`` so many by default, the others among the slow tests.

    Those by default lie on diagonals, so that every entry of an axis occurs if another is as long as
    ``of``.
    """
    cases = []
    for places in product(*(list(enumerate(axis)) for axis in axes)):
        marks = [pytest.mark.slow] if sum(at for at, _ in places) % of else []
        names = (str(at) if callable(value) else str(value) for at, value in places)
        cases.append(pytest.param(*(value for _, value in places), marks=marks, id="-".join(names)))
    return cases


SELDOM: dict[str, dict[str, int]] = {
    "tests/accounting/test_composition.py": {
        "test_gaussian_costs_add_up_without_loss": 2,
    },
    "tests/models/eptr_bayes/test_eptr_bayes.py": {
        "test_any_number_of_classes": 2,
        "test_the_statement_is_the_one_that_was_asked_for": 2,
    },
    "tests/models/eptr_linear/test_eptr_lm.py": {
        "test_hostile_private_data_never_raise_or_warn": 3,
        "test_the_statement_is_the_one_that_was_asked_for": 3,
    },
    "tests/audit/test_audit.py": {
        "test_right_claims_stand_and_wrong_ones_fall": 3,
        "test_what_real_numbers_do_not_show_is_detected": 3,
    },
    "tests/accounting/test_privacy.py": {
        "test_epsilon_is_that_of_an_independent_accountant": 3,
    },
    "tests/benchmarks/test_competitors.py": {
        "test_simulated_glm_responses_follow_their_family": 3,
        "test_glm_fit_gives_the_covariance_of_statsmodels": 3,
        "test_public_fit_is_near_maximum_likelihood_and_solves_its_equation": 3,
    },
    "tests/budget/test_charges.py": {
        "test_an_error_after_the_last_release_leaves_the_charge": 4,
        "test_any_error_after_the_first_release_leaves_the_charge": 4,
        "test_the_noise_of_persons_is_three_times_that_of_rows": 2,
    },
    "tests/contracts/test_contracts.py": {
        "test_a_result_holds_no_rows_and_travels": 2,
        "test_a_result_is_frozen": 3,
        "test_any_unit_of_the_budget_is_the_total": 2,
        "test_what_is_asked_of_a_result_costs_nothing": 3,
    },
    "tests/frame/test_table.py": {
        "test_dtypes_of_one_kind_behave_alike": 2,
    },
    "tests/mechanism/test_noise.py": {
        "test_draws_are_independent_within_a_call_and_from_call_to_call": 2,
        "test_standard_deviation_is_accepted_and_wrong_ones_are_refused": 2,
    },
    "tests/mechanism/test_passes.py": {
        "test_totals_of_parts_are_those_of_the_whole": 2,
    },
    "tests/models/eptr_nw/test_eptr_nw.py": {
        "test_at_a_usual_budget_it_is_near_the_truth": 2,
        "test_formulas": 2,
        "test_the_statement_is_the_one_that_was_asked_for": 3,
    },
    "tests/models/gaussian/test_dp_mvnorm.py": {
        "test_a_missing_row_counts_nowhere_whatever_else_is_in_it": 3,
        "test_any_number_of_columns_and_of_public_rows": 2,
        "test_columns_are_formulas": 3,
        "test_hostile_private_data_never_raise_or_warn": 3,
        "test_moments_of_columns_of_any_kind": 2,
        "test_neighbours_differ_in_released_numbers_only": 3,
        "test_order_index_kind_and_type_of_the_table_change_no_bit": 3,
        "test_units_go_through": 3,
    },
    "tests/models/gaussian/test_planning.py": {
        "test_plans_at_the_extremes": 2,
    },
    "tests/models/gaussian/test_releases.py": {
        "test_no_private_table_raises_or_warns_or_is_changed": 4,
        "test_shares_of_a_covariance_add_up_to_one_on_every_path": 2,
        "test_shares_of_a_mixture_add_up_to_one_at_most": 3,
    },
    "tests/models/gaussian/test_rows.py": {
        "test_cells_and_zones_of_the_largest_rows_are_their_own": 2,
    },
    "tests/models/glm/test_bounds.py": {
        "test_the_bound_of_the_last_step_covers": 3,
    },
    "tests/models/glm/test_dp_glm.py": {
        "test_without_noise_it_is_statsmodels_glm": 3,
    },
    "tests/models/linear/test_dp_lm.py": {
        "test_hostile_private_data_never_raise_or_warn": 3,
    },
    "tests/models/mixture/test_clustering.py": {
        "test_degenerate_points_give_cells": 4,
    },
    "tests/models/mixture/test_dp_mixture.py": {
        "test_any_tables_and_arguments_are_a_result_or_refused": 4,
        "test_columns_are_formulas": 3,
        "test_hostile_private_data_never_raise_or_warn": 3,
        "test_one_column": 3,
        "test_tiny_and_huge_budgets": 3,
    },
    "tests/propose_test/test_plan.py": {
        "test_curves_of_random_profiles_keep_delta_and_do_not_fall": 3,
        "test_divergence_is_the_integral_of_the_positive_part": 4,
        "test_no_probability_of_a_gdp_curve_can_be_raised_by_one_percent": 3,
        "test_very_small_shifts_neither_break_nor_lower_the_curve": 3,
    },
    "tests/report/test_plot.py": {
        "test_a_path_is_drawn": 3,
        "test_a_total_in_its_other_units": 2,
        "test_every_result_shows_its_privacy": 3,
    },
    "tests/test_forgetting.py": {
        "test_an_error_between_releases_holds_no_rows": 2,
    },
    "tests/test_fuzz.py": {
        "test_the_plain_call_has_a_result": 3,
    },
    "tests/test_lattice.py": {
        "test_a_result_is_a_function_of_its_releases_and_of_public_things": 3,
        "test_data_with_the_same_totals_leave_no_trace_in_the_last_bits": 2,
        "test_every_released_value_is_an_integer_of_steps": 2,
        "test_the_order_of_rows_leaves_no_trace": 3,
    },
    "tests/mechanism/test_ball.py": {
        "test_a_budget_too_large_for_the_lattice_is_not_used_up": 3,
        "test_length_is_gamma_and_direction_uniform": 4,
        "test_lengths_and_every_coordinate_have_their_scale_and_no_other": 2,
        "test_the_largest_noise_that_is_accepted_has_its_law": 2,
    },
    "tests/mechanism/test_release.py": {
        "test_entries_of_symmetric_noise_are_independent_across_places_and_matrices": 2,
        "test_symmetric_noise_has_sd_on_the_diagonal_and_what_is_said_off_it": 3,
        "test_pure_vectors_have_gamma_lengths_and_the_sd_that_is_stated": 2,
    },
    "tests/models/eptr_nw/test_releases.py": {
        "test_directed_pairs_move_nothing_by_more_than_is_claimed": 3,
    },
    "tests/models/mixture/test_overlap.py": {
        "test_components_come_back_from_their_cells": 3,
    },
    "tests/plans/test_plan.py": {
        "test_few_public_rows_do_not_make_errors_small": 2,
    },
}
"""Tests of many cases that ask nearly the same: by default one of so many, the others are slow."""


def mark_seldom(items: Iterable[pytest.Item]) -> None:
    """Mark cases of those tests that are not run by default, and what needs a cluster of Dask.

    Which cases these are differs by test.
    """
    met: Counter[str] = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        file, _, name = test.partition("::")
        if seldom := SELDOM.get(file, {}).get(name):
            if (met[test] + len(test)) % seldom:
                item.add_marker(pytest.mark.slow)
            met[test] += 1
        if "cluster" in getattr(item, "fixturenames", ()) or "[cluster" in item.name:
            item.add_marker(pytest.mark.slow)  # it takes longer to start than most tests
