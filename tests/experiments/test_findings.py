import pytest

from findings import AGREES, BETTER, DIFFERS, FAILS, HOLDS, OURS_ALONE, WORSE, Number, Statement, entries


@pytest.mark.parametrize(
    ("number", "verdict"),
    [
        (Number("", 1.0), OURS_ALONE),
        (Number("", 1.0, 1.0), AGREES),
        (Number("", 1.19, 1.0, se=0.1), AGREES),
        (Number("", 1.21, 1.0, se=0.1), DIFFERS),
        (Number("", 1.27, 1.0, se=0.1, paper_se=0.1), AGREES),
        (Number("", 1.24, 1.0, se=0.1, rounding=0.05), AGREES),
        (Number("", 0.7, 1.0, se=0.1, goal="lower"), BETTER),
        (Number("", 1.3, 1.0, se=0.1, goal="lower"), WORSE),
        (Number("", 1.3, 1.0, se=0.1, goal="higher"), BETTER),
        (Number("", 0.7, 1.0, se=0.1, goal="higher"), WORSE),
    ],
)
def test_two_standard_errors_decide(number, verdict):
    assert number.verdict == verdict


def test_statements_hold_or_do_not():
    assert Statement("", "", "", True).verdict == HOLDS
    assert Statement("", "", "", False).verdict == FAILS


def test_reasons_are_kept_only_where_there_is_something_to_explain():
    same, other = entries([Number("a", 1.0, 1.0, why="x"), Number("b", 2.0, 1.0, why="x")])
    assert (same["why"], other["why"]) == ("", "x")
    assert other["ours"] == 2.0
    assert other["paper"] == 1.0
    assert other["kind"] == "number"
