"""Tables as people have them: text, categories, truth values and gaps; units; relevance of columns."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from bayespoint import BayesPointClassifier
from bayespoint.exceptions import InferenceWarning, InvalidProblemError

pd = pytest.importorskip("pandas")

DEFAULTS = [BayesPointClassifier(None), BayesPointClassifier()]
both = pytest.mark.parametrize("model", DEFAULTS, ids=["one", "several"])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    size, colour = rng.normal(size=60), rng.choice(["red", "green", "blue"], 60)
    frame = pd.DataFrame(
        {
            "size": size,
            "colour": colour,
            "grade": pd.Categorical(rng.choice(["low", "high"], 60)),
            "old": rng.random(60) < 0.5,
            "count": pd.array(rng.integers(0, 9, 60), dtype="Int64"),
        }
    )
    frame.loc[[4, 9], "size"] = np.nan
    frame.loc[5, "colour"] = None
    frame.loc[6, "count"] = pd.NA
    y = np.where(np.nan_to_num(frame["size"]) + (colour == "red") - 0.3 > 0, "yes", "no")
    return frame, y


@both
def test_a_table_goes_in_as_it_is(model, table):
    X, y = table
    fitted = clone(model).fit(X, y)
    assert list(fitted.feature_names_in_) == list(X.columns)
    assert fitted.score(X, y) > 0.8
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
    other = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(other.predict_proba(X), fitted.predict_proba(X))


@both
def test_what_names_are_called_does_not_matter(model, table):
    X, y = table
    named = X.assign(colour=X["colour"].map({"red": "a", "green": "c", "blue": "b"}))
    categories = X.assign(colour=X["colour"].astype("category"))
    numbered = X.assign(colour=X["colour"].map({"red": 30, "green": 7, "blue": 8}).astype("category"))
    expected = clone(model).fit(X, y).predict_proba(X)
    for other in (named, categories, numbered):
        np.testing.assert_allclose(clone(model).fit(other, y).predict_proba(other), expected, atol=1e-5)


@both
def test_polars_is_pandas(model, table):
    pl = pytest.importorskip("polars")
    X, y = table
    plain = {name: [None if pd.isna(value) else value for value in X[name].tolist()] for name in X.columns}
    found, expected = clone(model).fit(pl.DataFrame(plain), y), clone(model).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(pl.DataFrame(plain)), expected.predict_proba(X), atol=1e-8)


@both
def test_new_rows_may_have_new_names_and_gaps(model, table):
    X, y = table
    fitted, new = clone(model).fit(X, y), X[:3].astype({"old": object})
    new.loc[0, "colour"], new.loc[1, "grade"], new.loc[2, "old"] = "purple", None, None
    proba = fitted.predict_proba(new)
    assert np.isfinite(proba).all()
    other = new.assign(colour=["pink", *new["colour"][1:]])
    np.testing.assert_array_equal(fitted.predict_proba(other)[0], proba[0])


@both
def test_what_cannot_be_a_table_is_refused_by_name(model, table):
    X, y = table
    dates = X.assign(day=pd.date_range("2020-01-01", periods=60))
    with pytest.raises(ValueError, match=r"^Column 'day' holds dates or durations: turn it into numbers[^\n]*\.$"):
        clone(model).fit(dates, y)
    with pytest.raises(ValueError, match=r"^Column 'bag' holds list objects: turn it into numbers or text\.$"):
        clone(model).fit(X.assign(bag=[[1]] * 60), y)
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match=r"^Training rows were a table with nominal columns: pass a table[^\n]*\.$"):
        fitted.predict(np.zeros((2, 5)))
    with pytest.raises(ValueError, match=r"^Column 'size' held numbers in the training rows"):
        fitted.predict(X.assign(size="large"))
    with pytest.raises(ValueError, match=r"(?s)feature names.*same order"):
        fitted.predict(X[list(reversed(X.columns))])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_other_kernels_take_numbers(kernel, table):
    X, y = table
    with pytest.raises(ValueError, match=r"^Column 'colour' holds text, and this kernel takes numbers[^\n]*\.$"):
        BayesPointClassifier(kernel).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        BayesPointClassifier(kernel).fit(X[["size"]], y)


@both
def test_only_the_default_kernels_take_gaps(model):
    from sklearn.utils import get_tags

    assert get_tags(model).input_tags.allow_nan
    assert not get_tags(BayesPointClassifier("rbf")).input_tags.allow_nan


@both
def test_units_do_not_matter(model, rng):
    X = rng.normal(size=(50, 4)) * [1.0, 10.0, 0.1, 1.0]
    X[:, 3] = np.exp(3 * X[:, 3])
    y = (X[:, 0] + X[:, 1] / 10 + rng.normal(size=50) / 2 > 0).astype(int)
    units = np.array([1e-6, 1e6, 1e3, 1e-3])
    a, b = clone(model).fit(X, y), clone(model).fit(units * X, y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(units * X), atol=1e-8)
    control = (BayesPointClassifier("rbf").fit(s * X, y).predict_proba(s * X) for s in (1.0, units))
    assert np.abs(np.subtract(*control)).max() > 0.01


@both
def test_constant_and_empty_columns_drop_out(model, rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] > 0
    more = np.column_stack([np.full(40, 3.0), X, np.full(40, np.nan)])
    a, b = clone(model).fit(X, y), clone(model).fit(more, y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(more), atol=1e-8)
    with pytest.raises(ValueError, match="All features are constant"):
        clone(model).fit(more[:, [0, 3]], y)


@both
def test_heavy_tails_and_a_single_outlier(model, rng):
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + 0.2 * rng.normal(size=80) > 0
    wild = X.copy()
    wild[0] = 1e9
    assert clone(model).fit(wild, y).score(X[1:], y[1:]) > 0.9


@both
def test_a_fitted_kernel_can_be_used_again(model, table):
    X, y = table
    numbers = X[["size", "count"]].astype(float)
    first = clone(model).set_params(calibration=None).fit(numbers, y)
    member = first.members_[0] if hasattr(first, "members_") else first
    again = BayesPointClassifier(member.kernel_, bias=member.bias_, optimizer=None)
    again = clone(again).fit(numbers, y)
    np.testing.assert_allclose(again.predict_proba(numbers), member.predict_proba(numbers), atol=1e-5)
    with pytest.raises(ValueError, match="Column 'colour' holds text"):
        clone(again).fit(X, y)


def test_a_stream_of_tables_has_the_names_of_its_first_batch(table):
    X, y = table
    model = BayesPointClassifier()
    for rows in np.array_split(np.arange(60), 3):
        model.partial_fit(X.iloc[rows], y[rows], classes=["no", "yes"])
    assert model.n_seen_ == 60
    assert not hasattr(model, "members_")
    assert model.score(X, y) > 0.7
    whole = BayesPointClassifier().fit(X, y)
    heaviest, kernel = next(iter(whole.weights_)), whole.kernel_
    with pytest.warns(InferenceWarning, match=rf"^A stream has one kernel: .* heaviest of \d, '{heaviest}'[^\n]*\.$"):
        whole.partial_fit(X, y)
    assert not hasattr(whole, "members_")
    assert whole.kernel_ == kernel


# -- several kernels ----------------------------------------------------------------------------------------------


def test_several_kernels_say_who_they_are(table):
    X, y = table
    model = BayesPointClassifier().fit(X, y)
    assert list(model.kernels_) == list(model.weights_)
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    assert list(model.weights_.values()) == sorted(model.weights_.values(), reverse=True)
    proba = np.sum([w * m.predict_proba(X) for w, m in zip(model.member_weights_, model.members_, strict=True)], axis=0)
    raised = proba**model.calibration_
    np.testing.assert_allclose(model.predict_proba(X), raised / raised.sum(axis=1, keepdims=True), atol=1e-12)
    one = model.set_params(kernel=None).fit(X, y)
    for name in ("members_", "member_weights_", "weights_"):
        assert not hasattr(one, name)


def test_sparse_rows_have_several_kernels_too(rng):
    X = sparse.random_array((60, 20), density=0.3, rng=rng, format="csr")
    y = np.asarray(X[:, :10].sum(axis=1) > X[:, 10:].sum(axis=1))
    model = BayesPointClassifier().fit(X, y)
    assert set(model.weights_) <= {"linear", "rbf"}
    assert model.score(X, y) > 0.8


# -- relevance ----------------------------------------------------------------------------------------------------


def test_relevance_is_that_of_the_length_scales(table):
    X, y = table
    model = BayesPointClassifier().fit(X, y)
    found = model.get_feature_relevance()
    assert sum(one.share for one in found) == pytest.approx(1.0)
    assert {one.name for one in found[:2]} == {"size", "colour"}
    assert sorted(one.name for one in found) == sorted(X.columns)
    parts = [(m, w) for m, w in zip(model.members_, model.member_weights_, strict=True) if "DotP" not in str(m.kernel_)]
    shares, weights = [dict(m.get_feature_relevance()) for m, _ in parts], [w for _, w in parts]
    for name, share in found:
        assert share == pytest.approx(np.average([one[name] for one in shares], weights=weights))


def test_relevance_by_hand(rng):
    from sklearn.gaussian_process.kernels import RBF

    X = rng.normal(size=(30, 2)) * [1.0, 3.0]
    model = BayesPointClassifier(2.0 * RBF([0.5, 2.0]), optimizer=None).fit(X, X[:, 0] > 0)
    parts = X.var(axis=0) / [0.25, 4.0]
    found = dict(model.get_feature_relevance())
    assert found == pytest.approx({"x0": parts[0] / parts.sum(), "x1": parts[1] / parts.sum()})


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_no_length_scales_no_relevance(kernel, rng):
    X = rng.normal(size=(20, 2))
    model = BayesPointClassifier(kernel, optimizer=None).fit(X, X[:, 0] > 0)
    with pytest.raises(InvalidProblemError, match=r"^No kernel here has length scales[^\n]*\.$"):
        model.get_feature_relevance()
