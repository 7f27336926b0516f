"""Hostile calls of every public function, as lists of changes to a call that works.

A case is a function and a few changes to a plain call of it: an argument, the kind of a column of a
table, the number of rows, a quirk of a table, or an argument of what is asked of the result. A case
prints as what it changes, and becomes smaller by leaving changes out. `running.run` says what went
wrong:

- an exception that is not the package's own, anywhere;
- a warning that is not a `PlanWarning`;
- a private value in anything that is said: errors with their causes, warnings, pages;
- another outcome for another private table with the same names, kinds and number of rows;
- a call that takes long, or a lot of memory.
"""
