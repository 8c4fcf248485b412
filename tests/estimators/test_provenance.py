import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import ActiveLearner, BayesPointClassifier, GaussianMarginClassifier
from bayespoint.engines import Billiard
from bayespoint.estimators import updated
from bayespoint.estimators._provenance import copied, learned_from
from bayespoint.exceptions import InvalidProblemError

KERNEL = 4.0 * RBF(1.5)


def fixed(kernel=KERNEL, **options):
    return BayesPointClassifier(kernel, optimizer=None, **options)


def refused(match):
    return pytest.raises(InvalidProblemError, match=rf"^No certificate: .*{match}.*\.$")


# -- copies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [2, 10])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_rows_repeated_are_refused(form, times, blobs):
    """Once wrong: ten copies of each row made a bound as sharp as that of ten times as many rows."""
    X, y = blobs
    model = fixed().fit(form(np.repeat(X, times, axis=0)), np.repeat(y, times))
    for options in ({}, {"prior_fraction": 0.5}):
        with refused(f"rows of class 0 are 20 rows, each there {times} times .* needs independent rows"):
            model.certificate(**options, trust_inputs=True)
    assert fixed().fit(form(X), y).certificate()


def test_wide_sparse_rows_are_compared_as_they_were_given(rng):
    """Coordinates of equal rows need not be equal to the last bit."""
    X = sparse.random_array((30, 400), density=0.1, rng=rng, format="csr")
    model = fixed("linear").fit(sparse.vstack([X, X], format="csr"), np.arange(60) % 2)
    assert model.fitted_.points.isometry is not None
    with refused("rows of class 0 are 15 rows, each there 2 times"):
        model.certificate()


def test_one_class_repeated_to_balance_the_other_is_refused(rng):
    X, y = rng.normal(size=(100, 2)), np.arange(100) >= 90
    times = np.where(y, 9, 1)
    with refused("rows of class True are 10 rows, each there 9 times"):
        fixed().fit(np.repeat(X, times, axis=0), np.repeat(y, times)).certificate()


def test_copies_show_in_a_precomputed_kernel(blobs):
    X, y = blobs
    gram = np.repeat(np.repeat(rbf_kernel(X), 3, axis=0), 3, axis=1)
    with refused("each there 3 times"):
        fixed("precomputed").fit(gram, np.repeat(y, 3)).certificate()


def test_weights_are_no_copies(blobs):
    """They change the posterior, and the bound counts each row once."""
    X, y = blobs
    assert fixed().fit(X, y, sample_weight=np.full(40, 10)).certificate().n == 40


def test_honest_repeats_of_whole_numbers_are_no_copies(seed):
    """Independent draws from few points repeat, but not in step: at most one alarm in a thousand for each class."""
    alarms = 0
    for k in range(300):
        rng = np.random.default_rng([seed, k])
        values, columns, n = rng.integers(2, 6), rng.integers(1, 4), rng.integers(20, 400)
        X = rng.integers(0, values, (n, columns)) * 1.0
        alarms += copied(X, rng.integers(0, 2, n)) is not None
    assert alarms <= 2
    assert copied(np.repeat(rng.normal(size=(30, 1)), 2, axis=0), np.zeros(60)) is not None  # the control


def test_minus_zero_is_zero():
    X = np.arange(12.0)[:, None]
    assert copied(np.r_[X * [[1.0, 0.0]], X * [[1.0, -0.0]]], np.zeros(24)) is not None


# -- rows that nobody drew ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_a_pipeline", [False, True])
def test_rows_that_an_active_learner_asked_for_are_refused(in_a_pipeline, rng):
    """Once wrong: the bound was issued as if chance had drawn them."""
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    learner = ActiveLearner(make_pipeline(fixed()) if in_a_pipeline else fixed(), X[:20], y[:20], random_state=0)

    def classifier():
        return learner.model[-1] if in_a_pipeline else learner.model

    assert classifier().certificate().n == 20  # nothing asked yet
    rows = learner.ask(X)
    learner.tell(X[rows], y[rows])
    with refused("rows were added after fitting, perhaps chosen"):
        classifier().certificate()
    assert clone(classifier()).fit(X, y).certificate().n == 80
    assert classifier().fit(X, y).certificate().n == 80  # drawn alike


@pytest.mark.parametrize(
    "model", [fixed(), fixed(engine=Billiard(draws=200), noise=0.1, decision="vote")], ids=["ep", "draws"]
)
def test_an_updated_classifier_is_refused(model, blobs):
    X, y = blobs
    order = np.random.default_rng(0).permutation(40)
    some = clone(model).set_params(random_state=0).fit(X[order[:38]], y[order[:38]])
    more = updated(some, X[order[38:]], y[order[38:]], random_state=0)
    for options in ({}, {"prior_fraction": 0.5}):
        with refused("rows were added after fitting"):
            more.certificate(**options)
    assert some.certificate().n == 38


def test_a_margin_machine_has_no_bounds_where_its_prior_saw_the_rows(blobs):
    """Once wrong: landmarks and length scales of the very rows went into `bounds` unnoticed."""
    X, y = blobs
    for model in (GaussianMarginClassifier("rbf"), GaussianMarginClassifier(KERNEL, max_rank=5)):
        with pytest.raises(InvalidProblemError, match=r"^No bounds: the .*prior_fraction=0\.5\)\.$"):
            model.fit(X, y).bounds()
    assert GaussianMarginClassifier(KERNEL).fit(X, y).bounds()


# -- grids --------------------------------------------------------------------------------------------------------

GRIDS = {
    "tenths": lambda rng, shape: rng.integers(0, 11, shape) / 10,
    "halves": lambda rng, shape: rng.integers(-3, 4, shape) / 2,
    "sixteenths": lambda rng, shape: rng.integers(0, 17, shape) / 16,
    "ratings": lambda rng, shape: rng.choice([-0.5, 0, 0, 0, 0.5, 1.0], shape),
}


@pytest.mark.parametrize("kind", GRIDS)
def test_whole_numbers_in_other_units_bear_no_trace(kind, seed):
    """Once wrong: grids span [0, 1] by themselves and have, of many columns, one with a mean of exactly zero."""
    for k in range(40):
        assert learned_from(GRIDS[kind](np.random.default_rng([seed, k]), (100, 20))) is None


@pytest.mark.parametrize("side", [19, 20])
def test_a_mesh_bears_no_trace(side):
    """Once wrong: its mean is zero by symmetry."""
    axis = 1.1 * np.linspace(-3, 3, side)
    assert learned_from(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)) is None


@pytest.mark.parametrize("options", [{}, {"with_std": False}, {"with_mean": False}], ids=str)
def test_scaled_whole_numbers_leave_a_trace(options, rng):
    """The control: a mean that was subtracted moves a grid off zero."""
    for _ in range(20):
        assert learned_from(StandardScaler(**options).fit_transform(rng.poisson(5, (100, 4)) * 1.0)) is not None


# -- what the reader is told --------------------------------------------------------------------------------------


def test_a_certificate_says_what_it_takes_on_trust(blobs):
    """Once wrong: "a prior fixed before the data", as if a look at the rows could tell."""
    X, y = blobs
    for options in ({}, {"prior_fraction": 0.5}):
        certificate = fixed(random_state=0).fit(X, y).certificate(**options)
        assert "takes on trust: rows independent; kernel and features chosen without these rows" in str(certificate)


def test_a_vote_of_draws_says_how_many_they_are(rng):
    X = rng.normal(size=(40, 2))
    model = fixed("linear", softness=0.0, engine=Billiard(draws=50, chains=2), decision="vote", random_state=0)
    assert "for the vote of the 100 at hand" in str(model.fit(X, X[:, 0] > 0).certificate())


def test_a_bound_above_a_constants_error_says_so(rng):
    X = rng.normal(size=(60, 2))
    y = rng.random(60) < 0.1
    certificate = fixed().fit(X, y).certificate()
    assert certificate.constant_error == pytest.approx(y.mean())
    assert "no better than a constant: the most frequent class alone errs on" in str(certificate)
