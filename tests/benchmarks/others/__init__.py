"""Parts of `tests.benchmarks.real_others`: a module for each kind of estimator."""
