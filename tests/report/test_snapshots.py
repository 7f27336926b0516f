"""Pages are compared to the digits that are meant, and a wrong one is seen."""

import pytest

from tests.report.snapshots import same_page

CSV = 'term,ratio,rows,"a, b"\nx,0.0055720929203757,12,3e-11\n"y, z",-1.25,7,NA\n'
TEXT = "Pr(>|z|) = 0.0114, mu = 1 in 318 rows"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.0055720929203757", "0.0055720929203758"),
        ("0.0055720929203757", "0.00557209292037571"),
        ("-1.25", "-1.2499999999999998"),
        ("3e-11", "2.9999999999999998e-11"),
    ],
)
def test_last_digits_of_another_processor_are_the_same_page(old: str, new: str) -> None:
    changed = CSV.replace(old, new)
    assert changed != CSV
    same_page(changed, CSV, "csv")
    same_page(CSV, changed, "csv")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.00557209292", "0.00557209293"),
        ("-1.25", "-1.26"),
        ("-1.25", "1.25"),
        ("-1.25", "0.0"),
        ("-1.25", "nan"),
        ("-1.25", "NA"),
        ("-1.25", ""),
        ("3e-11", "3e-12"),
        (",12,", ",13,"),
        (",12,", ",12.0000000001,"),
        ("NA", "0.5"),
        ("term", "name"),
        ('"y, z"', "y z"),
        (",rows", ""),
        (",12,", ","),
        (",-1.25,7,NA", ",7,-1.25,NA"),
        ("x,", "x;"),
        ("\n", "\r\n"),
        ('"y, z",-1.25,7,NA\n', ""),
    ],
)
def test_a_wrong_cell_is_another_page(old: str, new: str) -> None:
    assert old in CSV
    changed = CSV.replace(old, new, 1)
    for made, kept in ((changed, CSV), (CSV, changed)):
        with pytest.raises(AssertionError):
            same_page(made, kept, "csv")


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
@pytest.mark.parametrize(
    ("old", "new"),
    [("0.0114", "0.0115"), ("0.0114", "-0.0114"), ("318", "319"), ("rows", "row"), (" =", "  =")],
)
def test_what_people_see_is_compared_to_the_letter(old: str, new: str, form: str) -> None:
    same_page(TEXT, TEXT, form)
    with pytest.raises(AssertionError):
        same_page(TEXT.replace(old, new, 1), TEXT, form)
