import numpy as np

from bayespoint.kernels import Features


def test_columns_together_are_as_columns_one_by_one(rng):
    """Numbers, constants, names and gaps side by side; new rows with gaps where training rows had none."""
    X = rng.standard_normal((30, 6)) * [1.0, 1e6, 1.0, 1.0, 0.0, 1e-6] + [0.0, 5.0, 0.0, 0.0, 3.0, 1.0]
    X[:, 2] = rng.integers(0, 4, 30)
    X[:5, 3] = np.nan
    kinds = ["number", "number", "nominal", "number", "number", "number"]
    new = X[::-1] * 1.5
    new[3] = np.nan
    for ranked in (False, True):
        whole = Features(X, kinds, ranked=ranked)
        alone = [Features(X[:, [j]], [kind], ranked=ranked) for j, kind in enumerate(kinds)]
        for rows in (X, new):
            parts = [part for j, one in enumerate(alone) for part in one._columns[0](rows[:, j])]
            one_by_one = np.column_stack(parts)
            assert np.array_equal(whole(rows), one_by_one.astype(np.float32).astype(np.float64))
