import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import bayespoint

ROOT = Path(bayespoint.__file__).parent
LAYERS = [
    ["exceptions"],
    ["_core"],
    ["kernels"],
    ["grams", "likelihoods"],
    ["problem"],
    ["posteriors"],
    ["readouts", "diagnostics", "engines"],
    ["evidence", "bounds"],
    ["tuning"],
    ["distributed"],
    ["estimators"],
    ["uses"],
    ["files", "onnx"],
    ["plots"],
    ["cli"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
ROOMS = [
    "bounds",
    "diagnostics",
    "distributed",
    "engines",
    "estimators",
    "evidence",
    "evidence.svm",
    "exceptions",
    "files",
    "grams",
    "kernels",
    "likelihoods",
    "onnx",
    "plots",
    "posteriors",
    "problem",
    "readouts",
    "tuning",
    "uses",
]


def imported_parts(source, package):
    """Top-level parts of the library that a module of `package` (a list of names) imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        yield from (name[1] for name in names if name[0] == "bayespoint" and len(name) > 1 and name[1] in LEVEL)


def wrong_imports(part, source, package):
    """Imports that do not point to a lower layer."""
    return [other for other in imported_parts(source, package) if other != part and LEVEL[other] >= LEVEL[part]]


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        *folders, name = path.relative_to(ROOT).with_suffix("").parts
        if folders or name != "__init__":
            yield pytest.param(path, ["bayespoint", *folders], id="/".join([*folders, name]))


@pytest.mark.parametrize(("path", "package"), list(modules()))
def test_imports_point_to_lower_layers(path, package):
    part = package[1] if len(package) > 1 else path.stem
    assert part in LEVEL, f"give {part} a layer"
    assert wrong_imports(part, path.read_text(), package) == []


@pytest.mark.parametrize(
    ("part", "source", "package"),
    [
        ("kernels", "from .engines import EP", ["bayespoint"]),
        ("kernels", "from . import problem", ["bayespoint"]),
        ("kernels", "import bayespoint.readouts", ["bayespoint"]),
        ("engines", "def f():\n    from ..estimators._inputs import Points", ["bayespoint", "engines"]),
        ("engines", "from .. import readouts", ["bayespoint", "engines"]),
        ("problem", "from .posteriors import Latent", ["bayespoint"]),
        ("grams", "from ..likelihoods import Step", ["bayespoint", "grams"]),
        ("evidence", "from ...bounds import Bound", ["bayespoint", "evidence", "svm"]),
    ],
)
def test_a_wrong_import_is_noticed(part, source, package):
    assert wrong_imports(part, source, package)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_order_of_the_layers_is_told(page):
    """On the pages for those who join in, as it stands here."""
    order = " < ".join(", ".join(names) for names in LAYERS)
    assert order in " ".join((Path(__file__).parents[1] / page).read_text(encoding="utf-8").split())


def modules_after(code):
    code += "\nimport sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_library_loads_neither_compiler_nor_plots():
    loaded = modules_after("import bayespoint")
    assert {"bayespoint", "sklearn"} <= loaded
    assert not loaded & {"numba", "llvmlite", "matplotlib"}
    assert "numba" in modules_after("import numba")  # the check can fail


def test_the_default_fit_compiles_nothing():
    loaded = modules_after(
        "from sklearn.datasets import load_iris\n"
        "from bayespoint import BayesPointClassifier\n"
        "X, y = load_iris(return_X_y=True)\n"
        "BayesPointClassifier(None).fit(X[::5], y[::5]).predict_proba(X)"
    )
    assert not loaded & {"numba", "llvmlite", "matplotlib"}


def public_things():
    """What `bayespoint` and its rooms export: names, and what they stand for."""
    for room in ["bayespoint", *(f"bayespoint.{name}" for name in ROOMS)]:
        module = importlib.import_module(room)
        yield from ((f"{room}.{name}", getattr(module, name)) for name in module.__all__)


def exemplary():
    """Public classes and functions; protocols are what others fulfil."""
    for name, thing in public_things():
        if (inspect.isclass(thing) or inspect.isroutine(thing)) and not is_protocol(thing):
            yield pytest.param(thing, id=name)


def is_protocol(thing):
    return getattr(thing, "_is_protocol", False)


@pytest.mark.parametrize("thing", list(exemplary()))
def test_every_public_name_has_an_example(thing):
    assert "Examples\n" in (thing.__doc__ or "")
    assert ">>> " in thing.__doc__


def test_every_room_is_public_or_has_an_underscore():
    """`cli` is a program, and exports nothing."""
    found = {name for name in LEVEL if not name.startswith("_")} - {"cli"}
    assert found == {room.split(".")[0] for room in ROOMS}


def test_the_public_surface_is_this():
    """A name more or a name less is a decision, not an accident."""
    assert sorted(name.removeprefix("bayespoint.") for name, _ in public_things()) == SURFACE


def test_the_api_page_lists_every_public_name_once():
    """Under its shortest name or that of its room."""
    page = (Path(__file__).parents[1] / "docs" / "api.rst").read_text(encoding="utf-8")
    listed = [line.strip() for line in page.splitlines() if line.startswith("   ") and ":" not in line]
    things = dict(public_things())
    names = {id(thing): name for name, thing in things.items() if not inspect.ismodule(thing)}  # one for each thing
    found = [names[id(things[f"bayespoint.{name}"])] for name in listed]
    assert len(found) == len(set(found))
    assert set(found) == set(names.values())


SURFACE = [
    "ActiveLearner",
    "BayesPointClassifier",
    "BayesianSVC",
    "Choice",
    "GaussianMarginClassifier",
    "Hinge",
    "Logistic",
    "Problem",
    "Progress",
    "RejectingClassifier",
    "Step",
    "bounds.Bound",
    "bounds.Certificate",
    "bounds.ball_bound",
    "bounds.bayes_bound",
    "bounds.binary_kl",
    "bounds.binomial_bound",
    "bounds.cap_bound",
    "bounds.catoni_bound",
    "bounds.centre_of_mass_gap",
    "bounds.certify",
    "bounds.certify_classes",
    "bounds.certify_draws",
    "bounds.disintegrated_bound",
    "bounds.divergence",
    "bounds.gaussian_divergence",
    "bounds.gaussian_margin_bound",
    "bounds.gaussian_margin_slack_bound",
    "bounds.gibbs_error",
    "bounds.invert_kl",
    "bounds.linear_svm_bound",
    "bounds.log_ball_ratio",
    "bounds.log_cap_ratio",
    "bounds.majority_vote_bound",
    "bounds.margin_bound",
    "bounds.mcallester_bound",
    "bounds.mcallester_two_sided",
    "bounds.mirrored_problem",
    "bounds.seeger_bound",
    "bounds.subset_bound",
    "bounds.symmetric_centre",
    "diagnostics.Diagnosis",
    "diagnostics.diagnose",
    "diagnostics.ess",
    "diagnostics.mcse",
    "diagnostics.rhat",
    "diagnostics.warn_if_poor",
    "distributed.Partition",
    "distributed.PartitionedEP",
    "distributed.Sample",
    "distributed.dask_partitions",
    "distributed.gather_sample",
    "distributed.posterior_of",
    "engines",
    "engines.Billiard",
    "engines.ClassicBilliard",
    "engines.Corners",
    "engines.EP",
    "engines.EllipticalSlice",
    "engines.Engine",
    "engines.GibbsSampler",
    "engines.Laplace",
    "engines.Margin",
    "engines.Perceptrons",
    "estimators.BayesPointClassifier",
    "estimators.BayesianSVC",
    "estimators.CertifiedDraw",
    "estimators.FeatureConfidence",
    "estimators.FeatureRelevance",
    "estimators.Fitted",
    "estimators.GaussianMarginClassifier",
    "estimators.Progress",
    "estimators.TrainingRows",
    "estimators.updated",
    "evidence.Estimate",
    "evidence.Stones",
    "evidence.cumulant_correction",
    "evidence.log_evidence",
    "evidence.svm.DrawnGradient",
    "evidence.svm.InputWeights",
    "evidence.svm.SVMData",
    "evidence.svm.SvmGradient",
    "evidence.svm.input_weights",
    "evidence.svm.log_normaliser",
    "evidence.svm.normaliser_gradient",
    "evidence.svm.normaliser_slope",
    "evidence.svm.sample_svm_data",
    "evidence.svm.sample_svm_prior",
    "evidence.svm.svm_evidence_gradient",
    "evidence.svm.svm_log_evidence",
    "exceptions.EmptyVersionSpaceError",
    "exceptions.InferenceWarning",
    "exceptions.InvalidProblemError",
    "exceptions.ModelFileError",
    "files.describe",
    "files.load",
    "files.save",
    "find_label_errors",
    "grams.Approximation",
    "grams.Conditioned",
    "grams.Dense",
    "grams.DensePoints",
    "grams.Exact",
    "grams.FeaturePoints",
    "grams.Gram",
    "grams.KernelRows",
    "grams.Landmarks",
    "grams.Linear",
    "grams.LowRank",
    "grams.NaturalGaussian",
    "grams.NewPoints",
    "grams.Range",
    "grams.Root",
    "grams.RowPoints",
    "grams.RowSource",
    "grams.Rows",
    "grams.View",
    "grams.check_gram",
    "grams.choose_view",
    "grams.pivoted_cholesky",
    "grams.view_by_features",
    "kernels.CallableKernel",
    "kernels.Directions",
    "kernels.Features",
    "kernels.GroupedRBF",
    "kernels.Isometry",
    "kernels.Normalized",
    "kernels.OnFeatures",
    "kernels.Precomputed",
    "kernels.Spectral",
    "kernels.amplitude",
    "kernels.by_differences",
    "kernels.contract_gradient",
    "kernels.is_wide",
    "kernels.kernel_values",
    "kernels.kinds_of_columns",
    "kernels.linear_features",
    "kernels.make_kernel",
    "kernels.spectral_leaf",
    "kernels.table_kernel",
    "kernels.table_kernels",
    "kernels.wide_kernels",
    "kernels.with_bias",
    "likelihoods.Choice",
    "likelihoods.Hinge",
    "likelihoods.HingeSum",
    "likelihoods.Likelihood",
    "likelihoods.Logistic",
    "likelihoods.SquaredHinge",
    "likelihoods.Step",
    "likelihoods.epsilon_insensitive",
    "load",
    "onnx.register_converters",
    "onnx.to_onnx",
    "plots.ClassRegionsDisplay",
    "plots.ConfusionDisplay",
    "plots.DecisionBoundariesDisplay",
    "plots.EvidenceSurfaceDisplay",
    "plots.FeatureConfidenceDisplay",
    "plots.FeatureRelevanceDisplay",
    "plots.LearningCurveDisplay",
    "plots.ProbabilitySurfaceDisplay",
    "plots.RejectionCurveDisplay",
    "plots.ReliabilityDisplay",
    "plots.TraceDisplay",
    "plots.VersionSpaceDisplay",
    "posteriors.At",
    "posteriors.ClassesAt",
    "posteriors.ClassesEvidenceGradient",
    "posteriors.ClassesPosterior",
    "posteriors.EvidenceGradient",
    "posteriors.ExpandedPosterior",
    "posteriors.GaussianClassesPosterior",
    "posteriors.GaussianPosterior",
    "posteriors.Latent",
    "posteriors.LatentClasses",
    "posteriors.Posterior",
    "posteriors.SampledClasses",
    "posteriors.SampledPosterior",
    "problem.Problem",
    "problem.Weights",
    "query",
    "readouts",
    "readouts.Decisions",
    "readouts.bayes_decision",
    "readouts.bayes_point",
    "readouts.class_probability",
    "readouts.dont_know",
    "readouts.entropy",
    "readouts.flip_probability",
    "readouts.joint_class_probability",
    "readouts.label_log_probability",
    "readouts.largest_probabilities",
    "readouts.latent",
    "readouts.leave_one_out_probability",
    "readouts.monte_carlo_error",
    "readouts.mutual_information",
    "readouts.vote",
    "readouts.vote_entropy",
    "save",
    "tuning.Candidate",
    "tuning.HyperPrior",
    "tuning.Model",
    "tuning.Weighted",
    "tuning.infer_candidate",
    "tuning.maximise_evidence",
    "tuning.plausible_candidates",
    "tuning.power_of",
    "tuning.stacking_weights",
    "tuning.to_the_power",
    "tuning.weak_hyper_prior",
    "uses.Acceptance",
    "uses.ActiveLearner",
    "uses.Asked",
    "uses.BoundSearch",
    "uses.ClosestClassifier",
    "uses.Confusion",
    "uses.CostSensitiveClassifier",
    "uses.ErrorInterval",
    "uses.ErrorMonitor",
    "uses.EvidenceSurface",
    "uses.JointLabels",
    "uses.LabelErrors",
    "uses.RejectingClassifier",
    "uses.RejectionCurve",
    "uses.ReliabilityCurve",
    "uses.VersionSpace",
    "uses.area_under_rejection_curve",
    "uses.array_batches",
    "uses.certify",
    "uses.closest_classifier",
    "uses.confusion",
    "uses.evidence_surface",
    "uses.expected_calibration_error",
    "uses.find_label_errors",
    "uses.information_gain",
    "uses.joint_label_probabilities",
    "uses.parquet_batches",
    "uses.query",
    "uses.rejection_curve",
    "uses.reliability_curve",
    "uses.rows_needed",
    "uses.sampled_version_space",
    "uses.threshold_for_rate",
    "uses.threshold_for_risk",
    "uses.utilities",
]
