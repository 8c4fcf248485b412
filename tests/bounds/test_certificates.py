import pickle
from dataclasses import replace
from math import asin, comb, exp, log, pi

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Problem, Step
from bayespoint.bounds import (
    Bound,
    Certificate,
    binomial_bound,
    certify,
    certify_draws,
    disintegrated_bound,
    divergence,
    gibbs_error,
    seeger_bound,
)
from bayespoint.engines import EP, Billiard, Corners
from bayespoint.evidence import Estimate, log_evidence
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import Landmarks
from witnesses import mcse

ROWS = np.arange(0, 60, 3)
SOFT = Step(0.05, 0.5)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 2))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)


@pytest.fixture
def solve(data):
    X, y = data

    def posterior(rows=slice(None), labels=y, step=SOFT, amplitude=4.0):
        return EP().infer(Problem(amplitude * RBF(1.0)(X[rows]), labels[rows], step))

    return posterior


def inverted(error, nats, n, delta, choices=1):
    """The bound of Langford, Seeger and Maurer, from nothing but its definition."""
    xi = sum(comb(n, k) * (k / n) ** k * (1 - k / n) ** (n - k) for k in range(n + 1))
    budget = (nats + log(xi * choices / delta)) / n

    def excess(p):
        return error * log(error / p) + (1 - error) * log((1 - error) / (1 - p)) - budget

    return brentq(excess, error, 1 - 1e-12)


# -- Gaussian posteriors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("delta", "choices"), [(0.05, 1), (0.2, 1), (0.05, 30)])
def test_a_fixed_prior_by_hand(delta, choices, solve):
    posterior = solve()
    certificate = certify([posterior], delta, choices=choices)
    expected = inverted(gibbs_error(posterior), divergence(posterior), 60, delta, choices)
    assert certificate.gibbs.value == pytest.approx(expected, rel=1e-9)
    assert certificate.n == 60
    assert certificate.delta == delta
    assert certificate.basis == "a prior fixed before the data"
    assert certificate.held_out is certificate.classifier is None
    assert certificate.gibbs.terms["divergence"] * 60 == pytest.approx(divergence(posterior))
    assert certificate.gibbs.terms["grid"] * 60 == pytest.approx(log(choices))


def test_a_prior_on_some_rows_by_hand(solve):
    posterior, prior = solve(), solve(ROWS)
    certificate = certify([posterior], priors=[prior], prior_rows=ROWS, basis="a part")
    others = np.setdiff1d(np.arange(60), ROWS)
    expected = inverted(gibbs_error(posterior, others), divergence(posterior, prior, ROWS), 40, 0.05)
    assert certificate.gibbs.value == pytest.approx(expected, rel=1e-9)
    assert certificate.n == 40
    assert certificate.basis == "a part"


def lowest(posteriors, priors=None, prior_rows=None, choices=1):
    """Smallest sum of the bounds over the length of the means, by trying many."""
    others = np.arange(60) if prior_rows is None else np.setdiff1d(np.arange(60), prior_rows)

    def total(scale):
        return sum(
            seeger_bound(
                gibbs_error(posterior, others, scale),
                divergence(posterior, priors[i] if priors else None, prior_rows, scale),
                len(others),
                0.05,
                choices * len(posteriors),
            ).value
            for i, posterior in enumerate(posteriors)
        )

    return min(map(total, np.exp(np.linspace(-2, 2, 801))))


@pytest.mark.parametrize("amplitude", [0.1, 4.0, 20.0])
@pytest.mark.parametrize("step", [Step(0.05, 0.5), Step(0.2), Step(0.0, 5.0)], ids=str)
def test_the_bayes_point_has_the_bound_of_its_best_length(step, amplitude, solve):
    posterior = solve(step=step, amplitude=amplitude)
    certificate = certify([posterior])
    assert certificate.bayes_point.value <= 2 * certificate.gibbs.value
    assert certificate.bayes_point.value == pytest.approx(2 * lowest([posterior]), rel=1e-4)
    assert certificate.bayes_point.value == 2 * certificate.bayes_point.terms["mean error"]


def test_some_lengths_are_better_than_that_of_the_posterior(solve):
    certificate = certify([solve(step=Step(0.0, 5.0))])
    assert certificate.bayes_point.value < 1.99 * certificate.gibbs.value


def test_the_best_length_counts_the_prior_on_some_rows(solve):
    posterior, prior = solve(), solve(ROWS)
    certificate = certify([posterior], priors=[prior], prior_rows=ROWS)
    assert certificate.bayes_point.value == pytest.approx(2 * lowest([posterior], [prior], ROWS), rel=1e-4)


def test_several_classes_add_up(solve, data):
    X, _ = data
    classes = np.digitize(X[:, 0], [-0.4, 0.4])
    labels = [np.where(classes == k, 1.0, -1.0) for k in range(3)]
    posteriors = [solve(labels=y) for y in labels]
    certificate = certify(posteriors, choices=2)
    parts = [inverted(gibbs_error(p), divergence(p), 60, 0.05, 2 * 3) for p in posteriors]
    assert certificate.gibbs.value == pytest.approx(sum(parts), rel=1e-9)
    assert certificate.gibbs.terms["training error"] == pytest.approx(sum(map(gibbs_error, posteriors)))
    assert certificate.gibbs.terms["divergence"] == pytest.approx(sum(map(divergence, posteriors)) / 60)
    assert certificate.bayes_point.value == pytest.approx(2 * lowest(posteriors, choices=2), rel=1e-4)
    assert certificate.basis.endswith("the data; the sum over 3 classes, each against the rest")
    priors = [solve(ROWS, y) for y in labels]
    learned = certify(posteriors, priors=priors, prior_rows=ROWS)
    assert learned.bayes_point.value == pytest.approx(2 * lowest(posteriors, priors, ROWS), rel=1e-4)


@pytest.fixture
def low_rank(data):
    """Posterior on landmarks that leave out much."""
    X, y = data
    basis = Landmarks(X, X[:3])
    return EP().infer(Problem(basis.gram(4.0 * RBF(1.0)), y, SOFT)), basis


def test_a_draw_has_the_residual_of_landmarks_and_the_mean_has_not(low_rank, data):
    """Once wrong: training errors were those of the coordinates, which no draw at a new point is made of alone."""
    posterior, basis = low_rank
    X, y = data
    kernel = 4.0 * RBF(1.0)
    mean, variance = posterior.at(basis.new(kernel)(X)).latent  # as at new points
    as_drawn = ndtr(-y * mean / np.sqrt(variance)).mean()
    assert gibbs_error(posterior) == pytest.approx(as_drawn, rel=1e-9)
    without = gibbs_error(posterior, with_residual=False)
    assert without == pytest.approx(ndtr(-y * mean / np.sqrt(posterior.variance)).mean(), rel=1e-9)
    assert as_drawn > without + 0.02
    certificate = certify([posterior])
    assert certificate.gibbs.terms["training error"] == pytest.approx(as_drawn, rel=1e-9)
    expected = inverted(as_drawn, divergence(posterior), 60, 0.05, 2)  # two errors share delta
    assert certificate.gibbs.value == pytest.approx(expected, rel=1e-9)
    scales = np.exp(np.linspace(-2, 2, 801))
    least = min(
        inverted(gibbs_error(posterior, scale=s, with_residual=False), divergence(posterior, scale=s), 60, 0.05, 2)
        for s in scales
    )
    assert certificate.bayes_point.value == pytest.approx(2 * least, rel=1e-4)


def test_functions_drawn_at_the_rows_err_as_often_as_the_bound_counts(low_rank, data, rng):
    """The witness by draws: functions at all rows jointly, as `sample_latent` makes them."""
    posterior, basis = low_rank
    X, y = data
    kernel = 4.0 * RBF(1.0)
    functions = posterior.at(basis.new(kernel)(X).together(kernel(X))).functions(4000, rng)
    errors = (y * functions <= 0).mean(axis=1)
    se = errors.std() / np.sqrt(len(errors))
    assert abs(errors.mean() - gibbs_error(posterior)) < 4 * se
    assert abs(errors.mean() - gibbs_error(posterior, with_residual=False)) > 4 * se  # the wrong one is noticed


def test_a_latent_that_is_always_zero_counts_as_wrong():
    posterior = EP().infer(Problem(np.eye(2), [1, 1], Step(softness=1.0)))
    nothing = replace(posterior, mean=posterior.mean * [1, 0], variance=posterior.variance * [1, 0])
    assert gibbs_error(nothing, [1]) == 1.0
    assert gibbs_error(nothing, [0]) == gibbs_error(posterior, [0])


def test_draws_of_coordinates_alone_are_refused(data):
    X, y = data
    gram = Landmarks(X, X[:3]).gram(4.0 * RBF(1.0))
    posterior = Billiard(draws=20).infer(Problem(gram, y, SOFT), rng=0)
    with pytest.raises(InvalidProblemError, match=r"^Draws of a problem with residuals .*\.$"):
        certify_draws([posterior], [Estimate(-9.0, 0.1, "by hand")])


def test_more_rows_and_less_confidence_make_a_smaller_bound(solve):
    posterior = solve()
    values = [certify([posterior], delta).bayes_point.value for delta in (0.001, 0.05, 0.5)]
    assert values == sorted(values, reverse=True)
    assert certify([solve(slice(0, 30))]).bayes_point.value > values[1]


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, float("nan")])
def test_delta_is_a_probability(delta, solve):
    with pytest.raises(InvalidProblemError, match=r"^delta must lie strictly between 0 and 1.*\.$"):
        certify([solve()], delta)


def test_some_row_must_be_left_for_the_bound(solve):
    with pytest.raises(InvalidProblemError, match="n must be a whole number of at least 1"):
        certify([solve()], priors=[solve()], prior_rows=np.arange(60))


# -- draws --------------------------------------------------------------------------------------------------------


def monte_carlo(delta, posteriors=1, figures=3):
    """Standard errors that `certify_draws` adds: a tenth of delta, shared by the figures of each posterior."""
    return norm.isf(0.1 * delta / (figures * posteriors))


def share_of_the_circle(X, y):
    """Share of directions in the plane that give every row its label: a wedge around a feasible direction."""
    angles = np.arctan2(*(X * y[:, None]).T[::-1])
    mean = np.arctan2(np.sin(angles).sum(), np.cos(angles).sum())
    off = (angles - mean + pi) % (2 * pi) - pi
    width = pi - np.ptp(off)
    assert width > 0
    return width / (2 * pi)


@pytest.fixture
def wedge(rng):
    X = rng.normal(size=(12, 2))
    y = np.sign(X @ [1.0, 0.4])
    return Problem(X @ X.T, y, Step()), share_of_the_circle(X, y)


def test_the_share_of_the_circle_is_that_of_random_directions(rng):
    X = rng.normal(size=(6, 2))
    y = np.sign(X @ [1.0, 0.4])
    inside = np.all(rng.normal(size=(200_000, 2)) @ (X * y[:, None]).T > 0, axis=1)
    assert abs(inside.mean() - share_of_the_circle(X, y)) < 4 * inside.std() / np.sqrt(200_000)


def test_a_known_volume_gives_the_closed_form(wedge):
    problem, share = wedge
    certificate = certify_draws([Billiard(draws=100).infer(problem, rng=0)], [Estimate(log(share), 0.0, "exact")])
    xi = sum(comb(12, k) * (k / 12) ** k * (1 - k / 12) ** (12 - k) for k in range(13))
    expected = 1 - (share * 0.9 * 0.05 / xi) ** (1 / 12)  # kl(0 || p) = -log(1 - p)
    assert certificate.gibbs.value == pytest.approx(expected, rel=1e-12)
    assert certificate.bayes_point.value == pytest.approx(2 * expected, rel=1e-12)
    assert certificate.gibbs.terms["training error"] == 0
    assert certificate.n == 12


def test_a_sampled_volume_gives_the_closed_form_up_to_its_error(wedge):
    problem, share = wedge
    estimate = log_evidence(problem, rng=0, se=0.05)
    certificate = certify_draws([Billiard(draws=100).infer(problem, rng=0)], [estimate], delta=0.1)
    nats = 12 * certificate.gibbs.terms["divergence"]
    assert nats == pytest.approx(monte_carlo(0.1) * estimate.se - estimate.value, rel=1e-12)
    assert abs(nats - monte_carlo(0.1) * estimate.se + log(share)) < 4 * estimate.se + 1e-9


def test_several_posteriors_share_the_risk_and_add_up(wedge):
    problem, share = wedge
    posterior = Billiard(draws=100).infer(problem, rng=0)
    estimate = Estimate(log(share), 0.1, "by hand")
    both = certify_draws([posterior, posterior], [estimate, estimate], choices=3)
    nats = -log(share) + 0.1 * monte_carlo(0.05, 2)
    assert both.gibbs.value == pytest.approx(2 * seeger_bound(0.0, nats, 12, 0.9 * 0.05, 6).value, rel=1e-12)


def exact_figures(problem):
    """Relative entropy of the posterior to the prior, mean training errors of voters and of draws, and log-evidence.

    Of one or two latents.
    """
    gram, y, step = problem.dense, problem.y, problem.likelihood
    n = len(y)
    if step.softness == 0:  # every orthant has one likelihood
        signs = np.array(np.meshgrid(*[[-1, 1]] * n)).reshape(n, -1).T
        if n == 1:
            weight = np.full(2, 0.5)
        else:
            rho = gram[0, 1] / np.sqrt(gram[0, 0] * gram[1, 1])
            weight = 0.25 + signs.prod(axis=1) * asin(rho) / (2 * pi)
        margins = signs * y
        side = (margins > 0).astype(float)
    else:  # a fine grid
        grid = np.linspace(-9, 9, 1201)
        white = np.array(np.meshgrid(*[grid] * n)).reshape(n, -1).T
        weight = np.exp(-0.5 * (white**2).sum(axis=1))
        margins = y * (white @ np.linalg.cholesky(gram).T)
        side = ndtr(margins / np.sqrt(step.softness))
    weight = weight / weight.sum()
    likelihood = (step.noise + (1 - 2 * step.noise) * side) ** problem.exponents
    joint = weight * likelihood.prod(axis=1)
    evidence = joint.sum()
    seen = joint > 0
    nats = joint[seen] @ np.log(likelihood.prod(axis=1)[seen]) / evidence - log(evidence)
    errors = [float(joint @ losses.mean(axis=1)) / evidence for losses in (1 - side, margins <= 0)]
    return nats, *errors, log(evidence)


GRAMS = {"one row": np.array([[2.0]]), "two rows": np.array([[2.0, 0.9], [0.9, 1.0]])}


@pytest.mark.parametrize("gram", GRAMS)
@pytest.mark.parametrize("step", [Step(0.1), Step(0.0, 0.5), Step(0.2, 1.5)], ids=str)
def test_draws_tell_divergence_and_error_up_to_their_errors(step, gram, seed):
    problem = Problem(GRAMS[gram], [1.0, -1.0][: len(GRAMS[gram])], step)
    n = problem.size
    posterior = Billiard(draws=10_000).infer(problem, rng=seed)
    nats, voter, draw, value = exact_figures(problem)
    found = certify_draws([posterior], [Estimate(value, 0.0, "exact")])
    likelihood = step.log_likelihood(problem.y, posterior.latents).sum(axis=-1)
    side = problem.y * posterior.latents
    alone = (side <= 0).mean(axis=-1)
    voting = alone if step.softness == 0 else ndtr(-side / np.sqrt(step.softness)).mean(axis=-1)
    z = monte_carlo(0.05, figures=3 if step.softness == 0 else 4)
    for term, exact, draws in [
        (n * found.gibbs.terms["divergence"], nats, likelihood),
        (found.gibbs.terms["training error"], draw, alone),
        (found.bayes_point.terms["training error"], voter, voting),
    ]:
        se = float(mcse(draws[..., None])[0])
        assert abs(term - exact - z * se) < 5 * se
        assert abs(exact - 1.1 * (exact + 0.01)) > 5 * se  # a witness that would notice ten per cent


def test_draws_of_weighted_rows(seed):
    problem = Problem(GRAMS["two rows"], [1.0, -1.0], Step(0.1), weights=[2.0, 0.5])
    nats, error, _, value = exact_figures(problem)
    certificate = certify_draws([Billiard(draws=4000).infer(problem, rng=seed)], [Estimate(value, 0.0, "exact")])
    assert 2 * certificate.gibbs.terms["divergence"] == pytest.approx(nats, abs=0.1)
    assert certificate.gibbs.terms["training error"] == pytest.approx(error, abs=0.05)


def test_a_larger_monte_carlo_error_makes_a_larger_bound(wedge):
    problem, share = wedge
    posterior = Billiard(draws=100).infer(problem, rng=0)
    values = [certify_draws([posterior], [Estimate(log(share), se, "by hand")]).gibbs.value for se in (0.0, 0.1, 1.0)]
    assert values == sorted(values)
    assert values[0] < values[1] < values[2]


@pytest.mark.parametrize("draws", [5, 101, 125])
def test_any_number_of_draws_will_do(draws):
    """Once wrong: batches of unequal length, of draws that are no multiple of ten, cannot be put together."""
    problem = Problem(GRAMS["two rows"], [1.0, -1.0], Step(0.1, 0.5))
    nats, _, error, value = exact_figures(problem)
    terms = certify_draws([Billiard(draws=draws).infer(problem, rng=0)], [Estimate(value, 0.0, "exact")]).gibbs.terms
    assert nats < 2 * terms["divergence"] < nats + 1
    assert error < terms["training error"] < error + 0.3


@pytest.mark.parametrize(("draws", "chains"), [(1, 1), (1, 2), (2, 4)])
@pytest.mark.parametrize("step", [Step(0.1), Step(0.1, 0.5)], ids=str)
def test_few_draws_do_not_tell_their_error(step, draws, chains):
    """Once wrong: one draw, or a few that make the same mistakes, seemed to have no Monte Carlo error at all."""
    problem = Problem(GRAMS["two rows"], [1.0, -1.0], step)
    posterior = Billiard(draws=draws, chains=chains).infer(problem, rng=0)
    with pytest.raises(InvalidProblemError, match=r"^A handful of draws does not tell its error: take more\.$"):
        certify_draws([posterior], [Estimate(-1.5, 0.0, "by hand")])


def test_an_evidence_without_a_standard_error_is_refused(wedge):
    """Once wrong: the evidence of expectation propagation has no standard error."""
    problem, share = wedge
    with pytest.raises(InvalidProblemError, match="standard error"):
        certify_draws([Billiard(draws=100).infer(problem, rng=0)], [Estimate(log(share), None, "ep")])


def test_draws_outside_of_version_space_are_refused():
    """Once wrong: corners lie on the walls, where the log-likelihood is minus infinity, and numpy complains."""
    problem = Problem(np.eye(3) + 0.3, [1.0, -1.0, 1.0], Step())
    with pytest.raises(InvalidProblemError, match=r"(?i)draws|corners|version space"):
        certify_draws([Corners().infer(problem)], [Estimate(-2.0, 0.0, "by hand")])


# -- what a reader sees -------------------------------------------------------------------------------------------


def by_hand(gibbs=0.123456, **changes):
    terms = {"training error": 0.01234, "divergence": 0.0555, "confidence": 0.02, "grid": 0.0}
    return Certificate(
        **{
            "bayes_point": Bound(2 * gibbs, {**terms, "mean error": gibbs}),
            "gibbs": Bound(gibbs, terms),
            "n": 200,
            "delta": 0.05,
            "basis": "a prior fixed before the data",
            **changes,
        }
    )


def test_a_certificate_reads_well():
    assert str(by_hand()) == (
        "Certificate at confidence 95 %\n"
        "  error of the classifier   <= 0.2469 (the Bayes point, which is the vote of the posterior)\n"
        "  a test set of 200 rows    <= 0.0311 (if it had the training error of the draws)\n"
        "  mean error of a draw      <= 0.1235\n"
        "    training error 0.0123, divergence 11.1 nats, 200 rows\n"
        "  rests on: a prior fixed before the data\n"
        "  takes on trust: rows independent; kernel and features chosen without these rows"
    )


@pytest.mark.parametrize(("constant", "says_so"), [(0.2, True), (0.2469, True), (0.3, False), (None, False)])
def test_a_bound_no_better_than_a_constant_says_so_in_words(constant, says_so):
    lines = str(by_hand(constant_error=constant)).split("\n")
    assert by_hand(constant_error=constant).beats_a_constant is not says_so
    if says_so:
        words = f"the most frequent class alone errs on {constant:.4f} of these rows"
        assert lines[2] == f"    no better than a constant: {words}"
    else:
        assert "constant" not in "".join(lines)


def test_the_constant_is_judged_on_the_rows_of_the_bound(solve, data):
    """Once missing: a certificate did not know what the most frequent class alone would do."""
    X, y = data
    others = np.setdiff1d(np.arange(60), ROWS)
    certificate = certify([solve()], priors=[solve(ROWS)], prior_rows=ROWS)
    assert certificate.constant_error == pytest.approx(min(np.mean(y[others] > 0), np.mean(y[others] < 0)))
    classes = np.digitize(X[:, 0], [-0.4, 0.9])
    three = certify([solve(labels=np.where(classes == k, 1.0, -1.0)) for k in range(3)])
    assert three.constant_error == pytest.approx(1 - np.bincount(classes).max() / 60)


def test_a_vote_says_that_finitely_many_draws_are_not_paid_for(wedge):
    """Once wrong: the vote of a single draw was given the bound of the whole posterior's without a word."""
    problem, share = wedge
    for draws in (1, 50):
        posterior = Billiard(draws=draws, chains=1).infer(problem, rng=0)
        certificate = certify_draws([posterior], [Estimate(log(share), 0.0, "exact")])
        assert f"for the vote of the {draws} at hand its bound holds on average over them" in str(certificate)


def test_a_test_set_is_shown_beside_it():
    lines = str(by_hand(held_out=binomial_bound(3, 100, 0.05))).split("\n")
    assert len(lines) == 8
    assert lines[-1] == "  the same by a test set    <= 0.0757 (test error 0.0300)"


@pytest.mark.parametrize(("delta", "shown"), [(0.01, "99 %"), (0.001, "99.9 %"), (0.07, "93 %"), (0.5, "50 %")])
def test_confidence_is_shown_in_per_cent(delta, shown):
    assert str(by_hand(delta=delta)).split("\n")[0] == f"Certificate at confidence {shown}"


def test_a_bound_that_says_nothing_says_so():
    lines = str(by_hand(gibbs=0.6)).split("\n")
    assert lines[1].startswith("  error of the classifier   <= 1 (says nothing)")
    assert lines[3] == "  mean error of a draw      <= 0.6000"


@pytest.mark.parametrize("kind", ["disintegrated", "held-out"])
def test_other_kinds_say_what_they_are_of_and_what_a_test_set_would_have_given(kind):
    bound = disintegrated_bound(3, 100, 2.0, 0.05) if kind == "disintegrated" else binomial_bound(3, 100, 0.05)
    certificate = Certificate(bound, None, 100, 0.05, "half of the rows", kind=kind, plan={"held-out": 0.12})
    lines = str(certificate).split("\n")
    assert lines[1].startswith(f"  error of the classifier   <= {bound.value:.4f} (")
    assert {"disintegrated": "drawn once", "held-out": "what was fitted on the other rows"}[kind] in lines[1]
    assert lines[2].startswith("  a test set of 100 rows    <= 0.0757 (")
    assert lines[-1] == "  chosen by a pilot, which expected: held-out 0.1200"
    assert certificate.bound is bound


def test_a_certificate_cannot_be_changed_and_survives_pickling():
    certificate = by_hand()
    with pytest.raises(AttributeError):
        certificate.n = 3
    assert pickle.loads(pickle.dumps(certificate)) == certificate
    assert "classifier" not in repr(certificate)


def test_the_bound_is_never_below_the_training_error(solve):
    certificate = certify([solve()])
    assert certificate.gibbs.value > certificate.gibbs.terms["training error"]
    assert exp(-certificate.gibbs.terms["divergence"]) < 1
