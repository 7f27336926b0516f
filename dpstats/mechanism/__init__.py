"""Blocks of numbers in, private numbers out: the core that an audit of privacy reads first.

All that is random and protects a row is drawn here; noise is added here and nowhere else. Nothing here
knows of formulas, columns or pandas. Whoever wants to be sure reads as well:
- the ``rows.py`` and ``releases.py`` of every model, of `dpstats.margins`, and of
  `dpstats.score_rounds` (there ``person_rows.py`` has all rows of a person as one term of a sum): what
  a row becomes, what is summed of it, and how far one row moves the sum, proved in the docstring of
  the function that relies on it. They import each other, this folder, `dpstats.accounting` and
  `dpstats.propose_test`, and no other part of a model;
- `dpstats.accounting`, what a total means and how costs add up, and `dpstats.propose_test`, what a
  release behind a test costs;
- what runs while private rows are read. No noise is drawn there, but a row must become what it becomes
  by itself, whatever the other rows are: `dpstats.frame` makes numbers of a row
  (`frame.formula.evaluate`; polynomials and splines of formulaic, called in `frame.formula.engine`),
  lets so many rows of a person count, by the rows of that person alone (`frame.persons`), brings them
  together (`frame.by_person`), or encodes a row again with one column changed (`frame.changes`);
  `models.glm.family` asks statsmodels for scores and curvatures; `models.eptr_nw.estimate` holds the
  centre of a kernel regression (`PolynomialCentre`), and `models.mixture.clustering` the zones in
  which rows of a mixture are counted (`zone_of`).

`eptr` hands the whole table to the two functions of its user, who proves what they do.
"""
