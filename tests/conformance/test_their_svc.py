"""scikit-learn's own tests of `SVC`, run against `BayesianSVC` through an adapter."""

import pytest
import theirs
from sklearn import svm

from bayespoint import BayesianSVC


class SVC(BayesianSVC):
    """By scikit-learn's names; what only they have is taken and not looked at."""

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        probability="deprecated",
        class_weight=None,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
    ):
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        vars(self).update(given | vars(BayesianSVC.from_svc(svm.SVC(**given))))


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(autouse=True)
def expected(request):
    theirs.expect(request, LEFT_OUT | NOT_BEHAVIOUR)


OTHERS = {  # tests of estimators that are not SVC
    *("test_svr", "test_linearsvr", "test_linearsvr_fit_sampleweight", "test_svr_errors", "test_svr_predict"),
    *("test_svm_regressor_sided_sample_weight", "test_sparse_fit_support_vectors_empty", "test_svr_coef_sign"),
    *("test_oneclass", "test_oneclass_decision_function", "test_oneclass_score_samples", "test_n_support"),
    *("test_linearsvc_parameters", "test_linearsvc", "test_linearsvc_crammer_singer", "test_crammer_singer_binary"),
    *("test_linearsvc_fit_sampleweight", "test_linearsvc_iris", "test_dense_liblinear_intercept_handling"),
    *("test_liblinear_set_coef", "test_linearsvc_verbose", "test_linear_svm_convergence_warnings"),
    *("test_lsvc_intercept_scaling_zero", "test_linearsvm_liblinear_sample_weight"),
    *("test_dual_auto", "test_dual_auto_edge_cases"),
}
REST = "several classes are solved one against the rest, not in pairs"
NEGATIVE = "a negative weight is refused, not taken for zero"
LEFT_OUT = {  # at most twenty in both files
    "test_precomputed": f"{REST}: on iris .96 right by a linear kernel, where .99 is asked for; all else in it holds",
    "test_decision_function_shape[SVC]": f"{REST}: there is no decision of pairs",
    "test_n_iter_libsvm[4-SVC-ndarray]": f"{REST}: four machines for four classes",
    "test_svc_invalid_break_ties_param[SVC]": f"{REST}: there are no ties to break",
    "test_svc_ovr_tie_breaking[SVC]": f"{REST}: there are no ties, so predict is always the largest decision",
    "test_negative_sample_weights_mask_all_samples[weights-are-negative-SVC]": NEGATIVE,
    "test_negative_sample_weights_mask_all_samples[weights-are-zero-SVC]": "refused in other words",
    "test_negative_weights_svc_leave_just_one_label[mask-label-1-SVC]": NEGATIVE,
    "test_negative_weights_svc_leave_just_one_label[mask-label-2-SVC]": NEGATIVE,
    "test_negative_weights_svc_leave_two_labels[partial-mask-label-1-SVC]": NEGATIVE,
    "test_negative_weight_equal_coeffs[partial-mask-label-1-SVC]": NEGATIVE,
    "test_bad_input": "sparse rows are welcome after a fit on dense ones",
    "test_sparse_precomputed": "a sparse Gram matrix is welcome",
    "test_svc_nonfinite_params": "features beyond all bounds are refused before work is done, in other words",
    "test_libsvm_convergence_warnings": "the machine is solved to rounding: there is no max_iter",
}
NOT_BEHAVIOUR = {
    "test_tweak_params": "writes to a private array of libsvm",
    "test_gamma_scale": "reads a private attribute",
    "test_svc_raises_error_internal_representation": "writes to a private array of libsvm",
    "test_hasattr_predict_proba": "of probability=False, which goes away: probabilities are always there",
    "test_probability_raises_futurewarning": "a deprecation of theirs",
    "test_svc_nusvc_probA_probB_deprecated[SVC]": "a deprecation of theirs",
}

tests = theirs.load("sklearn.svm.tests.test_svm", "sklearn.svm", {"SVC": SVC})
tests.assert_array_equal = theirs.assert_equal_to_rounding
globals().update(theirs.cases(tests, OTHERS, {"NuSVC", "SVR", "NuSVR", "LinearSVC", "LinearSVR", "OneClassSVM"}))
