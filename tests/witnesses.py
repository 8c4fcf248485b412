"""Independent ways to the numbers that the tests compare with: quadrature, orthants, brute-force draws, differences."""

from inspect import signature
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr
from scipy.stats import multivariate_normal

from bayespoint import RejectingClassifier, diagnostics


def mcse(draws):
    """Monte Carlo standard errors, where arviz-stats is there to tell them: it needs newer versions than we do."""
    pytest.importorskip("arviz_stats")
    return diagnostics.mcse(draws)


def orthant_probability(cov, seed, **settings):
    """P(all of N(0, cov) are negative) by the lattice rule in scipy, which takes a seed since 1.16."""
    if "rng" not in signature(multivariate_normal.cdf).parameters:
        pytest.skip("scipy before 1.16 has orthant probabilities without a seed")
    return multivariate_normal.cdf(np.zeros(len(cov)), cov=cov, rng=np.random.default_rng(seed), **settings)


def log_likelihood(step, margin):
    """log of noise + (1 - 2 noise) Phi(margin / sqrt(softness))."""
    with np.errstate(divide="ignore"):
        if step.softness > 0:
            log_side = log_ndtr(margin / np.sqrt(step.softness))
        else:
            log_side = np.where(margin > 0, 0.0, -np.inf)
        return np.logaddexp(np.log(step.noise), np.log1p(-2 * step.noise) + log_side)


def tilted(step, y, mean, var, power=1.0):
    """Log-normaliser and moments of N(mean, var) x likelihood^power, and the slopes in log noise and log softness."""
    sd, s, q = np.sqrt(var), step.softness, step.noise
    fine = np.sort(np.r_[mean + sd * np.linspace(-30, 30, 2001), np.sqrt(max(s, 1e-30)) * np.linspace(-30, 30, 2001)])

    def log_density(f):
        return -0.5 * (f - mean) ** 2 / var - 0.5 * np.log(2 * np.pi * var) + power * log_likelihood(step, y * f)

    heights = log_density(fine)
    top = heights.max()
    alive = fine[heights > top - 80]
    peak = fine[heights.argmax()]
    scales = sd, np.sqrt(1 / (1 / var + power / s)) if s > 0 else var / (sd + abs(mean))
    corners = np.unique(np.r_[alive[0], alive[-1], 0.0, peak, *(peak + w * np.arange(-9, 10, 3) for w in scales)])
    if s > 0:
        corners = np.unique(np.r_[corners, np.sqrt(s) * np.arange(-9, 10, 3)])
    corners = corners[(corners >= alive[0]) & (corners <= alive[-1])]

    def integral(g):
        return sum(
            quad(lambda f: g(f) * np.exp(log_density(f) - top), a, b, epsabs=0, epsrel=1e-11, limit=200)[0]
            for a, b in pairwise(corners)
        )

    def slope_in_softness(f):  # d log likelihood / d log s
        t = y * f / np.sqrt(s)
        return -0.5 * (1 - 2 * q) * t * np.exp(-0.5 * t**2 - log_likelihood(step, y * f)) / np.sqrt(2 * np.pi)

    def slope_in_noise(f):  # d log likelihood / d log q
        side = ndtr(y * f / np.sqrt(s)) if s > 0 else float(y * f > 0)
        return q * (1 - 2 * side) / np.exp(log_likelihood(step, y * f))

    with np.errstate(all="ignore"):
        z = integral(lambda f: 1.0)
        shift = integral(lambda f: f - peak) / z
        return {
            "log_z": top + np.log(z),
            "mean": peak + shift,
            "var": integral(lambda f: (f - peak - shift) ** 2) / z,
            "noise": power * integral(slope_in_noise) / z if q > 0 else 0.0,
            "softness": power * integral(slope_in_softness) / z if s > 0 else 0.0,
        }


def label_probability(step, y, mean, cov):
    """P(labels) for latents N(mean_k, cov), one row of `mean` a case: each step is a constant plus a half-space."""
    n, q = len(y), step.noise
    total = np.zeros(len(mean))
    for size in range(n + 1):
        for rows in map(list, combinations(range(n), size)):
            factor = q ** (n - size) * (1 - 2 * q) ** size
            if factor:
                total += factor * _orthant(
                    y[rows] * mean[:, rows],
                    np.outer(y, y)[np.ix_(rows, rows)] * (cov[np.ix_(rows, rows)] + step.softness * np.eye(size)),
                )
    return total


def _orthant(mean, cov):
    if mean.shape[1] == 0:
        return np.ones(len(mean))
    if mean.shape[1] == 1:
        return ndtr(mean[:, 0] / np.sqrt(cov[0, 0]))
    return np.atleast_1d(multivariate_normal.cdf(mean, cov=cov, abseps=1e-10, releps=1e-10))


def posterior_by_quadrature(problem):
    """Log-evidence, means and variances of up to three latents: one by quadrature, the others given it exactly."""
    gram, y, step = problem.dense, problem.y, problem.likelihood
    n = len(y)
    nodes, node_weights = np.polynomial.legendre.leggauss(12)
    means, variances = np.empty(n), np.empty(n)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        sd = np.sqrt(gram[i, i])
        detail = np.sqrt(step.softness) if step.softness else sd
        half = np.unique(np.r_[0.0, np.geomspace(min(detail, sd) / 50, 12 * sd, 25)])
        edges = np.unique(np.r_[-half, half])
        centre, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        f = (centre[:, None] + width[:, None] * nodes).ravel()
        weight = (width[:, None] * node_weights).ravel()
        column = gram[others, i] / gram[i, i]
        cov = gram[np.ix_(others, others)] - np.outer(column, column) * gram[i, i]
        density = np.exp(-0.5 * (f / sd) ** 2 + log_likelihood(step, y[i] * f)) / (sd * np.sqrt(2 * np.pi))
        density *= weight * label_probability(step, y[others], f[:, None] * column, cov)
        evidence = density.sum()
        means[i] = (density * f).sum() / evidence
        variances[i] = (density * (f - means[i]) ** 2).sum() / evidence
    return np.log(evidence), means, variances


def textbook_ep(problem, sweeps=100):
    """Expectation propagation with explicit matrices, one site at a time: (log-evidence, means, covariance)."""
    gram, y, q, s = problem.dense, problem.y, problem.likelihood.noise, problem.likelihood.softness
    n = len(y)
    tau, nu, mean, cov = np.zeros(n), np.zeros(n), np.zeros(n), gram

    def cavity_and_match(i):
        v = 1 / (1 / cov[i, i] - tau[i])
        m = v * (mean[i] / cov[i, i] - nu[i])
        z = y[i] * m / np.sqrt(v + s)
        norm = q + (1 - 2 * q) * ndtr(z)
        r = (1 - 2 * q) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) / norm
        return m, v, norm, m + y[i] * v * r / np.sqrt(v + s), v - v * v * r * (z + r) / (v + s)

    for i in list(range(n)) * sweeps:
        m, v, _, new_mean, new_var = cavity_and_match(i)
        tau[i], nu[i] = 1 / new_var - 1 / v, new_mean / new_var - m / v
        cov = np.linalg.solve(np.eye(n) + gram * tau, gram)
        mean = cov @ nu
    log_evidence = 0.5 * nu @ mean - 0.5 * np.linalg.slogdet(np.eye(n) + gram * tau)[1]
    for i in range(n):
        m, v, norm, new_mean, new_var = cavity_and_match(i)
        log_evidence += np.log(norm) + 0.5 * (m**2 / v - new_mean**2 / new_var + np.log(v / new_var))
    return log_evidence, mean, cov


def posterior_by_draws(problem, n_draws, rng):
    """Draws from the prior and the log-likelihood of each: (draws, log_weights)."""
    root = np.linalg.cholesky(problem.dense + 1e-12 * np.eye(problem.size))
    draws = rng.standard_normal((n_draws, problem.size)) @ root.T
    return draws, log_likelihood(problem.likelihood, problem.y * draws).sum(axis=1)


def weighted_mean(values, log_weights):
    """Self-normalised mean over draws and its standard error."""
    w = np.exp(log_weights - log_weights.max())
    w = w[:, None] / w.sum()
    values = values.reshape(len(values), -1)
    mean = (w * values).sum(axis=0)
    return mean, np.sqrt((w**2 * (values - mean) ** 2).sum(axis=0))


def central_difference(function, theta, step=1e-4):
    """Derivative by four points on each coordinate: the error is of fourth order in `step`."""
    theta = np.asarray(theta, dtype=float)

    def along(i):
        e = np.zeros_like(theta)
        e[i] = step
        near = function(theta + e) - function(theta - e)
        far = function(theta + 2 * e) - function(theta - 2 * e)
        return (8 * near - far) / (12 * step)

    return np.array([along(i) for i in range(len(theta))])


def stratified(inner, X, y, rng, **options):
    """A `RejectingClassifier` that is wrong on purpose: half of each class calibrates, and none of a class of one."""
    part = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        part[rows[: len(rows) // 2]] = True
    return RejectingClassifier(inner.fit(X[~part], y[~part]), calibration="prefit", **options).fit(X[part], y[part])


def precise_ep(problem, sweeps=60, digits=40):
    """`textbook_ep` with as many digits as are asked for: (log-evidence, means)."""
    mp = pytest.importorskip("mpmath").mp
    with mp.workdps(digits):
        n, q, s = problem.size, mp.mpf(problem.likelihood.noise), mp.mpf(problem.likelihood.softness)
        y = [int(label) for label in problem.y]
        gram, one = mp.matrix(problem.dense.tolist()), mp.eye(n)
        tau, nu = [mp.mpf(0)] * n, [mp.mpf(0)] * n

        def gaussian():
            cov = (one + gram * mp.diag(tau)) ** -1 * gram
            return cov, cov * mp.matrix(nu)

        def matched(i, cov, mean):
            v = 1 / (1 / cov[i, i] - tau[i])
            m = v * (mean[i] / cov[i, i] - nu[i])
            z = y[i] * m / mp.sqrt(v + s)
            norm = q + (1 - 2 * q) * mp.ncdf(z)
            r = (1 - 2 * q) * mp.npdf(z) / norm
            return m, v, norm, m + y[i] * v * r / mp.sqrt(v + s), v - v * v * r * (z + r) / (v + s)

        for i in list(range(n)) * sweeps:
            m, v, _, new_mean, new_var = matched(i, *gaussian())
            tau[i], nu[i] = 1 / new_var - 1 / v, new_mean / new_var - m / v
        cov, mean = gaussian()
        evidence = (mp.matrix(nu).T * mean)[0] / 2 - mp.log(mp.det(one + gram * mp.diag(tau))) / 2
        for i in range(n):
            m, v, norm, new_mean, new_var = matched(i, cov, mean)
            evidence += mp.log(norm) + (m**2 / v - new_mean**2 / new_var + mp.log(v / new_var)) / 2
        return float(evidence), np.array([float(value) for value in mean])
