"""Classes by Bayes' rule: `eptr_bayes`."""
