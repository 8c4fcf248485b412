"""Graphs of ONNX say what the classifiers say."""

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_ndtr
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.gaussian_process.kernels import RBF, DotProduct, ExpSineSquared, Matern, RationalQuadratic, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from bayespoint.engines import Billiard
from bayespoint.exceptions import InvalidProblemError
from bayespoint.kernels import Normalized

pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")

from bayespoint.onnx import register_converters, to_onnx  # noqa: E402
from bayespoint.onnx.graph import Graph  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:Low rank", "ignore:Constant features"),
]
FIXED = BayesPointClassifier(None, optimizer=None)


def cells_with_gaps():
    X, y = load_iris(return_X_y=True)
    X, rng = X.copy(), np.random.default_rng(0)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = np.round(X[:, 3])
    return np.column_stack([X, X[:, 0] > 5.5, np.full(len(X), 3.0)]), y


SETS = {
    "iris": load_iris(return_X_y=True),
    "cancer": load_breast_cancer(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "digits": load_digits(return_X_y=True),
    "moons": make_moons(200, noise=0.2, random_state=0),
    "gaps": cells_with_gaps(),
}


def session(graph):
    return runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])


def check(model, name, rows, form=np.float64, within=1e-7):
    """Fitted on some rows, asked for others, and far away from all."""
    X, y = SETS[name]
    model.fit(X[::rows], y[::rows])
    Z = np.concatenate([X[1::3], 3.0 * X[:5]]).astype(form)
    label, proba = session(to_onnx(model, Z)).run(None, {"X": Z})
    expected = model.predict_proba(Z.astype(np.float64))
    np.testing.assert_allclose(proba, expected, atol=within)
    clear = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2] > 1e-5
    np.testing.assert_array_equal(label[clear], model.predict(Z.astype(np.float64))[clear])
    assert proba.dtype == form
    return proba


KERNELS = {
    "linear": "linear",
    "Gaussian": "rbf",
    "polynomial": "poly",
    "laplacian": "laplacian",
    "own spreads": None,
    "one length scale each": 4.0 * RBF([1.0, 2.0, 3.0, 4.0]),
    "rough": Matern(2.0, nu=1.5) + WhiteKernel(0.1),
    "rougher": Matern([1.0, 2.0, 3.0, 4.0], nu=2.5),
    "heavy tails": RationalQuadratic(),
    "normalised": Normalized(DotProduct(1.0) ** 2),
    "large amplitude": 1e5 * RBF(3.0),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels(kernel):
    check(clone(FIXED).set_params(kernel=KERNELS[kernel]), "iris", 2)


@pytest.mark.parametrize(
    "settings",
    [
        {"noise": 0.1},
        {"softness": 0.0, "kernel": "rbf"},
        {"decision": "one-vs-rest"},
        {"decision": "vote", "noise": 0.05},
        {"max_rank": 10},
        {"kernel": "linear", "max_rank": 3},
        {"class_weight": "balanced", "bias": 0.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["iris", "moons"])
def test_settings(settings, name):
    check(clone(FIXED).set_params(**settings), name, 2)


def test_gaps():
    check(clone(FIXED), "gaps", 3)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("moons", 4),
        ("cancer", 6),
        pytest.param("iris", 3, marks=pytest.mark.slow),
        pytest.param("wine", 3, marks=pytest.mark.slow),
        pytest.param("gaps", 3, marks=pytest.mark.slow),
    ],
)
def test_stacked_kernels(name, rows):
    model = BayesPointClassifier(random_state=0)
    check(model, name, rows)
    assert len(model.members_) > 1


def test_ten_classes():
    model = BayesPointClassifier("rbf", optimizer=None, max_rank=60, random_state=0)
    proba = check(model, "digits", 4)
    assert proba.shape[1] == 10
    assert proba.max() > 0.5


def test_ten_classes_in_a_pipeline():
    model = make_pipeline(MinMaxScaler(), BayesPointClassifier(None, optimizer=None, max_rank=60, random_state=0))
    check(model, "digits", 4)


def test_a_power_is_taken():
    X, y = SETS["wine"]
    scaled = make_pipeline(StandardScaler(), BayesPointClassifier("rbf", optimizer=None)).fit(X[::2], y[::2])
    before = scaled.predict_proba(X)
    scaled[-1].fitted_ = replace(scaled[-1].fitted_, power=1.7)
    assert np.abs(scaled.predict_proba(X) - before).max() > 0.1
    label, proba = session(to_onnx(scaled, X)).run(None, {"X": X})
    np.testing.assert_allclose(proba, scaled.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(label, scaled.predict(X))


@pytest.mark.parametrize("probability", ["average", "mean", "map"])
@pytest.mark.parametrize("name", ["iris", "moons"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"C": 20.0, "kernel": "poly", "degree": 2, "coef0": 1.0}, {"max_rank": 8}, {"engine": "laplace"}],
    ids=["default", "poly", "landmarks", "laplace"],
)
def test_machines(probability, name, settings):
    check(BayesianSVC(probability=probability, **settings), name, 2)


def test_a_hard_margin():
    X, y = SETS["iris"]
    model = BayesianSVC(np.inf, probability="average").fit(X[:100], y[:100])
    _, proba = session(to_onnx(model, X)).run(None, {"X": X})
    np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-6)


@pytest.mark.slow
def test_machines_that_decide_together():
    model = BayesianSVC(optimizer="evidence", evidence="naive", average=True, random_state=0)
    check(model, "moons", 4)
    assert len(model.members_) > 1


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", ["iris", "moons"])
def test_margins(kernel, name):
    check(GaussianMarginClassifier(kernel), name, 2)


def test_wide_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 150))
    for kernel in ("linear", "auto"):
        model = BayesPointClassifier(kernel, random_state=0).fit(X[:40], X[:40, 0] > 0)
        _, proba = session(to_onnx(model, X)).run(None, {"X": X})
        np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-6)


def test_single_precision_loses_no_more_than_that_of_the_rows():
    check(BayesPointClassifier(random_state=0), "cancer", 6, np.float32, within=1e-5)


def test_a_stream():
    X, y = SETS["moons"]
    model = BayesPointClassifier("rbf").partial_fit(X[:100], y[:100], classes=[0, 1]).partial_fit(X[100:], y[100:])
    _, proba = session(to_onnx(model, X)).run(None, {"X": X})
    np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 1]], ids=["text", "truth", "numbers"])
def test_labels(labels):
    X, y = SETS["moons"]
    model = BayesPointClassifier("linear", optimizer=None).fit(X, np.array(labels)[y])
    label, _ = session(to_onnx(model, X)).run(None, {"X": X})
    np.testing.assert_array_equal(label.astype(model.classes_.dtype), model.predict(X))


def test_landmarks_stand_for_the_rows():
    """Neither the rows nor anything of their number is in the graph, and nothing of this library is needed."""
    X, y = SETS["digits"]
    model = BayesPointClassifier("rbf", optimizer=None, max_rank=20, random_state=0).fit(X[:500], y[:500])
    graph = to_onnx(model, X)
    assert max(max(one.dims, default=0) for one in graph.graph.initializer) < 100
    size = len(graph.SerializeToString())
    more = BayesPointClassifier("rbf", optimizer=None, max_rank=20, random_state=0).fit(X[:1000], y[:1000])
    assert len(to_onnx(more, X).SerializeToString()) < 1.1 * size


def test_prediction_needs_neither_library_nor_compiler(tmp_path):
    X, y = SETS["moons"]
    model = BayesianSVC().fit(X, y)
    (tmp_path / "model.onnx").write_bytes(to_onnx(model, X).SerializeToString())
    np.save(tmp_path / "rows.npy", X)
    code = (
        "import sys, numpy, onnxruntime\n"
        "session = onnxruntime.InferenceSession('model.onnx', providers=['CPUExecutionProvider'])\n"
        "proba = session.run(None, {'X': numpy.load('rows.npy')})[1]\n"
        "assert not {'bayespoint', 'sklearn', 'numba', 'scipy'} & set(sys.modules)\n"
        "numpy.save('proba.npy', proba)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    np.testing.assert_allclose(np.load(tmp_path / "proba.npy"), model.predict_proba(X), atol=1e-9)


def test_predictions_in_python_compile_nothing(tmp_path):
    """A machine is fitted by compiled loops; what it predicts needs none."""
    code = (
        "import pickle, sys\n"
        "model, X = pickle.load(open('model.pickle', 'rb'))\n"
        "model.predict_proba(X)\n"
        "print('numba' in sys.modules)"
    )
    X, y = SETS["moons"]
    (tmp_path / "model.pickle").write_bytes(pickle.dumps((BayesianSVC(max_rank=10).fit(X, y), X)))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


def test_functions_of_skl2onnx_take_them():
    import skl2onnx

    register_converters()
    X, y = SETS["iris"]
    model = BayesPointClassifier("linear", optimizer=None).fit(X, y)
    X = X.astype(np.float32)  # of which alone it makes dicts
    label, proba = session(skl2onnx.to_onnx(model, X[:1])).run(None, {"X": X[:3]})
    assert label.tolist() == [0, 0, 0]
    assert set(proba[0]) == {0, 1, 2}


X2, Y2 = make_moons(40, noise=0.2, random_state=0)


def by_distance(A, B):
    return np.exp(-np.square(A[:, None] - B).sum(axis=2))


@pytest.mark.filterwarnings("ignore:The chains")
@pytest.mark.parametrize(
    ("model", "X", "match"),
    [
        (BayesPointClassifier(by_distance, optimizer=None), X2, "CallableKernel has no form in ONNX"),
        (BayesPointClassifier(ExpSineSquared(), optimizer=None), X2[:, :1], "ExpSineSquared has no form in ONNX"),
        (BayesPointClassifier(Matern(nu=0.7), optimizer=None), X2, "Matern has no form in ONNX"),
        (BayesPointClassifier("precomputed", optimizer=None), by_distance(X2, X2), "Precomputed has no form in ONNX"),
        (BayesPointClassifier("rbf", engine=Billiard(draws=20), optimizer=None), X2, "fit with engine='ep'"),
        (BayesPointClassifier("rbf", engine="perceptron", optimizer=None), X2, "fit with engine='ep'"),
        (
            BayesPointClassifier("linear", optimizer=None),
            sparse.csr_array(np.random.default_rng(0).random((40, 50))),
            "fit on an array",
        ),
    ],
    ids=["function", "periodic", "odd smoothness", "precomputed", "draws", "perceptrons", "sparse"],
)
def test_what_has_no_graph_is_told_in_a_sentence(model, X, match):
    model.fit(X, Y2)
    with pytest.raises(InvalidProblemError, match=match) as caught:
        to_onnx(model, np.zeros((1, X.shape[1])))
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_one_model_of_several_classes_is_told():
    X, y = SETS["iris"]
    model = BayesPointClassifier("rbf", decision="joint", optimizer=None).fit(X[::3], y[::3])
    with pytest.raises(InvalidProblemError, match="fit with decision='bayes_point'"):
        to_onnx(model, X)


def test_nominal_columns_of_a_table_are_told():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"size": X2[:, 0], "colour": np.where(X2[:, 1] > 0, "red", "blue")})
    with pytest.raises(InvalidProblemError, match="encode them first"):
        to_onnx(BayesPointClassifier(None, optimizer=None).fit(table, Y2), np.zeros((1, 2)))


def test_the_normal_distribution_function_far_into_its_tails():
    """Against scipy, on a graph of its own."""
    from onnx import helper, numpy_helper

    class Container:
        target_opset = 17

        def __init__(self):
            self.nodes, self.constants = [], []

        def add_node(self, kind, inputs, output, name=None, op_version=None, **attributes):
            self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))

        def add_initializer(self, name, kind, shape, content):
            self.constants.append(numpy_helper.from_array(np.array(content, dtype=float).reshape(shape), name))

    class Scope:
        count = 0

        def get_unique_variable_name(self, name):
            self.count += 1
            return f"{name}{self.count}"

        get_unique_operator_name = get_unique_variable_name

    container = Container()
    _, log_p = Graph(Scope(), container).normal("z")
    known = [helper.make_tensor_value_info(name, 11, None) for name in ("z", log_p)]
    graph = helper.make_graph(container.nodes, "normal", known[:1], known[1:], container.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    z = np.r_[-np.logspace(-8, 3, 300), 0.0, np.logspace(-8, 3, 300)]
    found = session(model).run(None, {"z": z})[0]
    np.testing.assert_allclose(found, log_ndtr(z), rtol=1e-12, atol=1e-15)
