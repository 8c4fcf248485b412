"""What objects say of themselves is short, and what a notebook shows is text."""

import importlib
import inspect
import pkgutil
from dataclasses import dataclass, is_dataclass

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons

import bayespoint
from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier, Problem, Step, find_label_errors
from bayespoint._core.words import as_html_table, brief, told_briefly
from bayespoint.engines import EP, Billiard
from bayespoint.evidence import Estimate


@pytest.fixture(scope="module")
def model():
    X, y = make_moons(60, noise=0.2, random_state=0)
    return BayesPointClassifier(random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.zeros((30, 4)), "<30 x 4 float64>"),
        (np.array([1.0, 2.0]), "array([1., 2.])"),
        (sparse.csr_array((30, 4)), "<30 x 4 float64>"),
        (0.1234567891, "0.123457"),
        ([1.0, np.zeros(20)], "[1, <20 float64>]"),
        ((np.zeros(20),), "(<20 float64>,)"),
        (list(range(100)), "<100 of int>"),
        ({"a": np.zeros(20)}, "{'a': <20 float64>}"),
        ("x" * 1000, "<str>"),
    ],
)
def test_many_numbers_are_told_by_their_size(value, said):
    assert brief(value) == said


def test_a_class_shows_all_its_parts_or_those_named():
    @told_briefly()
    @dataclass
    class Whole:
        a: float
        b: object = None

    @told_briefly("b")
    @dataclass
    class Part:
        a: float
        b: object = None

    assert repr(Whole(1.0)).endswith("Whole(a=1)")
    assert repr(Part(1.0, np.zeros(9))).endswith("Part(b=<9 float64>)")


def test_problems_posteriors_and_fits_are_short(model):
    gram, y = np.eye(50) + 1.0, np.tile([1.0, -1.0], 25)
    problem = Problem(gram, y, Step(noise=0.1))
    posterior = EP().infer(problem)
    draws = Billiard(draws=50).infer(problem, rng=0)
    shown = [
        problem,
        posterior,
        draws,
        posterior.evidence_gradient,
        model.fitted_,
        model.fitted_.view,
        model.posterior_,
    ]
    assert max(len(repr(one)) for one in shown) < 500
    assert "log_evidence=" in repr(posterior)


def public_dataclasses():
    for module in pkgutil.walk_packages(bayespoint.__path__, "bayespoint."):
        if module.ispkg:
            package = importlib.import_module(module.name)
            named = [getattr(package, name) for name in getattr(package, "__all__", ())]
            yield from (one for one in named if inspect.isclass(one) and is_dataclass(one))


def test_what_users_meet_and_holds_arrays_tells_them_briefly():
    """Dataclasses that are not compared by value are those that hold arrays."""
    long = [cls for cls in public_dataclasses() if cls.__eq__ is object.__eq__ and cls.__repr__.__name__ != "told"]
    assert [cls.__name__ for cls in long if "def __repr__" not in inspect.getsource(cls)] == []


@pytest.mark.parametrize("kind", [BayesianSVC, GaussianMarginClassifier])
def test_a_notebook_shows_what_a_fit_found(kind):
    X, y = make_moons(30, noise=0.2, random_state=0)
    unfitted = kind()
    assert "<th>fitted</th>" not in unfitted._repr_mimebundle_()["text/html"]
    page = unfitted.fit(X, y)._repr_mimebundle_()["text/html"]
    assert "<th>fitted</th>" in page
    assert "<td>rows</td><td>30</td>" in page


def test_a_notebook_shows_several_kernels_and_the_loss_on_labels_left_out(model):
    page = model._repr_mimebundle_()["text/html"]
    assert all(name in page for name in model.weights_)
    assert "leave-one-out log loss" in page
    assert "log-evidence" in page


def test_label_errors_certificates_and_estimates_are_text_in_a_notebook(model):
    assert "&lt;b&gt;" in as_html_table(["<b>"], [["<script>"]], "<i>")
    assert "<script>" not in as_html_table(["<b>"], [["<script>"]], "<i>")
    assert find_label_errors(model)._repr_html_().count("<tr>") == 11
    assert Estimate(-1.0, 0.1, "a<b")._repr_html_() == "<pre>-1.000 +- 0.1 (a&lt;b)</pre>"
    assert "confidence 95 %" in model.certificate(prior_fraction=0.5)._repr_html_()
