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
        "test_delta_is_never_below_the_best_bound": 5,
        "test_gaussian_costs_add_up_without_loss": 3,
    },
    "tests/accounting/test_privacy.py": {
        "test_epsilon_is_that_of_an_independent_accountant": 5,
    },
    "tests/against_r/test_fits.py": {
        "test_coefficients_and_their_errors": 5,
        "test_fit_and_predictions": 5,
        "test_tests_of_the_terms_in_order": 5,
    },
    "tests/audit/test_known_laws.py": {
        "test_right_claims_stand_and_wrong_ones_fall": 5,
    },
    "tests/audit/test_leaks.py": {
        "test_naive_noise_of_floats_is_refuted_by_its_spacing": 3,
        "test_what_real_numbers_do_not_show_is_detected": 5,
    },
    "tests/audit/test_pages.py": {
        "test_plots": 6,
    },
    "tests/audit/test_worst_pairs.py": {
        "test_a_special_inner_value_is_detected": 5,
    },
    "tests/benchmarks/test_competitors.py": {
        "test_glm_fit_gives_the_covariance_of_statsmodels": 5,
        "test_public_fit_is_near_maximum_likelihood_and_solves_its_equation": 5,
    },
    "tests/benchmarks/test_replication.py": {
        "test_a_table_has_every_panel_and_no_series_without_answers": 6,
    },
    "tests/budget/test_charges.py": {
        "test_an_error_after_the_last_release_leaves_the_charge": 4,
        "test_any_error_after_the_first_release_leaves_the_charge": 4,
        "test_persons_are_charged_the_total_and_rows_are_noised_for_it": 3,
        "test_the_noise_of_persons_is_three_times_that_of_rows": 3,
    },
    "tests/contracts/test_contracts.py": {
        "test_a_result_holds_no_rows_and_travels": 3,
        "test_a_result_is_frozen": 5,
        "test_a_result_is_silent_of_its_rows": 3,
        "test_a_seed_repeats_and_says_so_and_no_seed_does_neither": 3,
        "test_any_unit_of_the_budget_is_the_total": 3,
        "test_what_is_asked_of_a_result_costs_nothing": 5,
    },
    "tests/frame/test_table.py": {
        "test_dtypes_of_one_kind_behave_alike": 3,
    },
    "tests/frame/test_text_files.py": {
        "test_a_cell_changes_its_own_row_alone": 5,
        "test_a_text_file_holds_the_rows_of_the_table": 3,
    },
    "tests/margins/test_averages.py": {
        "test_no_pair_refutes_the_claim_but_with_less_noise_it_does": 3,
        "test_no_total_moves_farther_than_is_claimed": 5,
        "test_without_noise_they_are_the_averages_of_rows_that_may_be_shown": 5,
    },
    "tests/margins/test_simulate.py": {
        "test_a_fit_of_simulated_rows_finds_the_coefficients_again": 5,
    },
    "tests/mechanism/test_ball.py": {
        "test_a_budget_too_large_for_the_lattice_is_not_used_up": 5,
        "test_length_is_gamma_and_direction_uniform": 6,
        "test_lengths_and_every_coordinate_have_their_scale_and_no_other": 3,
        "test_levels_are_sums_of_geometric_variables": 5,
        "test_masses_on_a_coarse_lattice": 5,
        "test_the_largest_noise_that_is_accepted_has_its_law": 3,
    },
    "tests/mechanism/test_conditional.py": {
        "test_a_coin_has_its_probability_and_no_other": 5,
        "test_rare_sides_of_a_coin_are_rare": 5,
    },
    "tests/mechanism/test_integers.py": {
        "test_coin_of_an_exponential": 3,
        "test_masses_are_those_of_the_definition": 5,
        "test_one_by_one_masses_are_the_same": 5,
    },
    "tests/mechanism/test_noise.py": {
        "test_draws_are_independent_within_a_call_and_from_call_to_call": 3,
        "test_standard_deviation_is_accepted_and_wrong_ones_are_refused": 3,
    },
    "tests/mechanism/test_left_behind.py": {
        "test_an_interruption_while_rows_are_forgotten_leaves_no_session": 3,
    },
    "tests/mechanism/test_passes.py": {
        "test_totals_of_parts_are_those_of_the_whole": 3,
    },
    "tests/mechanism/test_release.py": {
        "test_entries_of_symmetric_noise_are_independent_across_places_and_matrices": 3,
        "test_pure_vectors_have_gamma_lengths_and_the_sd_that_is_stated": 3,
        "test_symmetric_noise_has_sd_on_the_diagonal_and_what_is_said_off_it": 5,
    },
    "tests/mechanism/test_session.py": {
        "test_released_values_have_the_sd_that_their_release_states": 5,
    },
    "tests/models/eptr_bayes/test_eptr_bayes.py": {
        "test_any_number_of_classes": 3,
        "test_classes_of_any_kind": 5,
        "test_hostile_private_data_never_raise_or_warn": 5,
        "test_order_index_and_kind_of_the_table_change_no_bit": 5,
        "test_the_statement_is_the_one_that_was_asked_for": 3,
    },
    "tests/models/eptr_bayes/test_releases.py": {
        "test_results_are_the_same_bits_for_any_order_and_block": 5,
        "test_tested_means_move_by_what_was_planned_for_a_radius_of_any_size": 3,
    },
    "tests/models/eptr_linear/test_eptr_lm.py": {
        "test_at_a_usual_budget_it_is_near": 5,
        "test_hostile_private_data_never_raise_or_warn": 5,
        "test_order_and_index_of_the_rows_change_no_bit": 3,
        "test_the_statement_is_the_one_that_was_asked_for": 5,
    },
    "tests/models/eptr_linear/test_releases.py": {
        "test_a_tested_solution_moves_by_what_was_planned_for_limits_of_any_size": 3,
        "test_the_diameter_is_the_supremum_of_a_search": 5,
    },
    "tests/models/eptr_nw/test_eptr_nw.py": {
        "test_any_number_of_rows_is_predicted": 5,
        "test_at_a_usual_budget_it_is_near_the_truth": 3,
        "test_formulas": 3,
        "test_hostile_private_data_never_raise_or_warn": 5,
        "test_limits_that_are_far_too_wide_cost_little": 5,
        "test_points_of_two_covariates": 5,
        "test_the_statement_is_the_one_that_was_asked_for": 5,
        "test_three_covariates": 5,
    },
    "tests/models/eptr_nw/test_releases.py": {
        "test_directed_pairs_move_nothing_by_more_than_is_claimed": 5,
        "test_no_search_moves_weighted_values_further": 5,
        "test_results_are_the_same_bits_for_any_order_and_block": 5,
    },
    "tests/models/eptr_own/test_eptr.py": {
        "test_a_safe_estimate_comes_back_with_noise_of_the_size_that_is_said": 5,
        "test_functions_that_fail_on_private_data_say_no_reply_and_nothing_else": 5,
    },
    "tests/models/gaussian/test_bounds.py": {
        "test_released_errors_are_covered_and_not_far_off": 5,
    },
    "tests/models/gaussian/test_dp_mvnorm.py": {
        "test_a_missing_row_counts_nowhere_whatever_else_is_in_it": 5,
        "test_any_number_of_columns_and_of_public_rows": 3,
        "test_columns_are_formulas": 5,
        "test_hostile_private_data_never_raise_or_warn": 5,
        "test_moments_of_columns_of_any_kind": 3,
        "test_more_public_rows_than_columns_leave_no_trace_of_the_coordinates": 5,
        "test_neighbours_differ_in_released_numbers_only": 5,
        "test_order_index_kind_and_type_of_the_table_change_no_bit": 5,
        "test_plans_that_promise_little_warn_before_private_data_are_read": 5,
        "test_units_go_through": 5,
    },
    "tests/models/gaussian/test_planning.py": {
        "test_plans_at_the_extremes": 3,
        "test_the_trace_estimate_is_unbiased": 3,
    },
    "tests/models/gaussian/test_releases.py": {
        "test_lifted_noise_has_the_sd_that_is_said_of_every_part": 3,
        "test_no_private_table_raises_or_warns_or_is_changed": 6,
        "test_noise_of_counts_has_the_sd_that_is_said": 5,
        "test_shares_of_a_covariance_add_up_to_one_on_every_path": 3,
        "test_shares_of_a_mixture_add_up_to_one_at_most": 5,
    },
    "tests/models/gaussian/test_rows.py": {
        "test_cells_and_zones_of_the_largest_rows_are_their_own": 3,
        "test_directed_pairs_move_no_total_by_more_than_is_claimed": 5,
        "test_totals_are_the_same_bits_for_any_order_block_slab_cache_and_threads": 5,
        "test_totals_are_the_sums_of_what_rows_alone_give": 5,
        "test_what_a_row_gives_is_its_own_in_coordinates_of_any_condition": 5,
    },
    "tests/models/gaussian/test_tail_cuts.py": {
        "test_means_of_skewed_and_rare_columns_are_held_by_their_intervals": 3,
    },
    "tests/models/glm/test_bounds.py": {
        "test_the_bound_of_the_last_step_covers": 5,
    },
    "tests/models/glm/test_dp_glm.py": {
        "test_averages_over_trials_have_errors_near_those_without_privacy": 4,
        "test_hard_data_give_finite_answers_and_no_warnings": 3,
        "test_the_scale_of_weights_does_not_matter": 4,
        "test_without_noise_it_is_statsmodels_glm": 5,
    },
    "tests/models/linear/test_dp_lm.py": {
        "test_hostile_private_data_never_raise_or_warn": 5,
        "test_the_range_of_sigma_holds_least_squares_where_errors_are_skewed": 3,
    },
    "tests/models/linear/test_rows.py": {
        "test_sums_are_the_same_bits_for_any_order_block_and_cache": 5,
    },
    "tests/models/mixture/test_clustering.py": {
        "test_all_components_are_found": 3,
        "test_degenerate_points_give_cells": 6,
    },
    "tests/models/mixture/test_dp_mixture.py": {
        "test_a_missing_row_counts_nowhere_whatever_else_is_in_it": 5,
        "test_any_tables_and_arguments_are_a_result_or_refused": 6,
        "test_both_regimes_find_the_components": 3,
        "test_columns_are_formulas": 5,
        "test_components_of_eight_columns_are_found_with_few_and_many_public_rows": 3,
        "test_hostile_private_data_never_raise_or_warn": 5,
        "test_one_column": 5,
        "test_order_index_kind_and_type_of_the_table_change_no_bit": 5,
        "test_plans_that_promise_little_warn_before_private_data_are_read": 5,
        "test_repeated_public_rows_are_a_result_or_refused": 5,
        "test_rows_that_are_no_draws_from_the_components_are_said_to_be_none": 6,
        "test_the_data_decide_where_no_number_is_given": 5,
        "test_tiny_and_huge_budgets": 5,
        "test_two_public_rows_per_component_are_the_fewest": 5,
    },
    "tests/models/mixture/test_overlap.py": {
        "test_components_come_back_from_their_cells": 5,
    },
    "tests/models/mixture/test_releases.py": {
        "test_blocks_of_any_size_give_the_same_bits": 5,
    },
    "tests/models/test_alone.py": {
        "test_a_call_ends_with_a_result_whatever_the_noise": 3,
        "test_a_call_ends_with_a_result_whatever_the_rows": 3,
        "test_a_centred_column_in_smaller_units_is_not_shrunk_to_nothing": 3,
        "test_without_noise_it_is_the_fit_of_statsmodels": 5,
    },
    "tests/models/test_rare_levels.py": {
        "test_the_effect_of_a_rare_level_is_not_exaggerated": 3,
    },
    "tests/plans/test_panel.py": {
        "test_a_plan_predicts_what_fits_print": 3,
    },
    "tests/plans/test_plan.py": {
        "test_few_public_rows_do_not_make_errors_small": 3,
        "test_one_curve_of_rehearsals_answers_every_budget": 3,
        "test_what_is_predicted_is_delivered": 5,
    },
    "tests/propose_test/test_plan.py": {
        "test_curves_of_random_profiles_keep_delta_and_do_not_fall": 5,
        "test_divergence_is_the_integral_of_the_positive_part": 6,
        "test_no_probability_of_a_gdp_curve_can_be_raised_by_one_percent": 5,
        "test_the_planned_noise_is_enough_and_less_is_not": 3,
        "test_very_small_shifts_neither_break_nor_lower_the_curve": 5,
    },
    "tests/report/test_plot.py": {
        "test_a_path_is_drawn": 5,
        "test_a_total_in_its_other_units": 3,
        "test_all_plots_fit_half_a_page": 3,
        "test_every_result_shows_its_privacy": 5,
        "test_odd_axes_are_refused": 3,
    },
    "tests/score_rounds/test_meat.py": {
        "test_a_direction_with_a_variance_of_its_own_keeps_it": 3,
    },
    "tests/score_rounds/test_rows.py": {
        "test_sums_are_the_same_bits_for_any_order_block_and_cache": 5,
    },
    "tests/test_forgetting.py": {
        "test_an_error_between_releases_holds_no_rows": 2,
        "test_rows_are_forgotten_when_a_call_has_succeeded": 5,
    },
    "tests/test_fuzz.py": {
        "test_a_hostile_call_ends_in_a_result_or_in_an_error_of_the_package": 2,
        "test_so_does_one_without_public_rows": 3,
        "test_the_plain_call_has_a_result": 5,
    },
    "tests/test_lattice.py": {
        "test_a_result_is_a_function_of_its_releases_and_of_public_things": 9,
        "test_data_with_the_same_totals_leave_no_trace_in_the_last_bits": 6,
        "test_every_released_value_is_an_integer_of_steps": 6,
        "test_the_order_of_rows_leaves_no_trace": 6,
    },
    "tests/test_sensitivities.py": {
        "test_no_total_moves_farther_than_is_claimed": 2,
    },
}
"""Tests of many cases that ask nearly the same: by default one of so many, the others are slow."""


def mark_seldom(items: Iterable[pytest.Item]) -> None:
    """Mark cases of those tests that are not run by default, and what needs a cluster of Dask or
    processes.

    Which cases these are differs by test; there is one of each at least.
    """
    items, met = list(items), Counter[str]()
    cases = Counter(item.nodeid.partition("[")[0] for item in items)
    for item in items:
        test = item.nodeid.partition("[")[0]
        file, _, name = test.partition("::")
        if seldom := SELDOM.get(file, {}).get(name):
            if (met[test] + len(test)) % min(seldom, cases[test]):
                item.add_marker(pytest.mark.slow)
            met[test] += 1
        others = any(name in item.name for name in ("[cluster", "[processes"))
        if "cluster" in getattr(item, "fixturenames", ()) or others:
            item.add_marker(pytest.mark.slow)  # it takes longer to start than most tests
