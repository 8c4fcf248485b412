"""Many rows from disk in batches: partial_fit beside SGDClassifier, time, memory, and held-out probabilities.

    python benchmarks/streaming.py [--rows 300000] [--features 100] [--batch 10000]

Labels follow a probit model with features of unequal scale and one of two labels flipped for 2 % of the rows. Ours
learns that share along the stream ("evidence"), takes it for zero, or is told it. The SGD classifier goes through the
same batches, once and five times, and is calibrated (sigmoid) on 20,000 further rows. Seconds are of processor time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

from bayespoint import BayesPointClassifier
from bayespoint.uses import array_batches


def make_rows(n: int, weights: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = (rng.standard_normal((n, len(weights))) * np.linspace(0.5, 1.5, len(weights))).astype(np.float32)
    y = X @ weights + rng.standard_normal(n) > 0
    return X, (y ^ (rng.random(n) < 0.02)).astype(np.int8)


def write(path: Path, n: int, batch: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows on disk, made a batch at a time."""
    rng = np.random.default_rng(1)
    X = np.lib.format.open_memmap(path / "X.npy", "w+", np.float32, (n, len(weights)))
    y = np.lib.format.open_memmap(path / "y.npy", "w+", np.int8, (n,))
    for start in range(0, n, batch):
        stop = min(start + batch, n)
        X[start:stop], y[start:stop] = make_rows(stop - start, weights, rng)
    X.flush(), y.flush()
    return np.load(path / "X.npy", mmap_mode="r"), np.load(path / "y.npy", mmap_mode="r")


def own_megabytes() -> float:
    """Memory of this process that is not just the page cache of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def stream(model, X, y, batch: int, passes: int = 1) -> tuple[float, float]:
    before, peak, start = own_megabytes(), 0.0, time.process_time()
    for _ in range(passes):
        for rows, labels in array_batches(X, y, batch):
            model.partial_fit(rows, labels, classes=[0, 1])
            peak = max(peak, own_megabytes())
    return time.process_time() - start, peak - before


def calibration_error(labels: np.ndarray, p: np.ndarray, bins: int = 20) -> float:
    """Mean distance of label frequency and probability over equally filled bins."""
    parts = np.array_split(np.argsort(p), bins)
    return float(sum(len(part) * abs(labels[part].mean() - p[part].mean()) for part in parts) / len(p))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--batch", type=int, default=10_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(options.features) / 4
    test = make_rows(100_000, weights, rng)
    extra = make_rows(20_000, weights, rng)
    with tempfile.TemporaryDirectory() as folder:
        X, y = write(Path(folder), options.rows, options.batch, weights)
        print(f"{options.rows:,} rows x {options.features} features on disk: {X.nbytes / 2**20:.0f} MB")

        def report(name, model, seconds, megabytes=None):
            p = model.predict_proba(test[0])[:, 1]
            memory = "" if megabytes is None else f", {megabytes:5.0f} MB beyond the start"
            print(
                f"  {name:34} {seconds:6.1f} s{memory}; log loss {log_loss(test[1], p):.4f}, "
                f"calibration error {calibration_error(test[1], p):.4f}",
                flush=True,
            )

        base = None
        for noise in ("evidence", 0.0, 0.02):
            name = f"noise={noise!r}" + (", the truth" if noise == 0.02 else "")
            model = BayesPointClassifier("linear", noise=noise)
            spent = stream(model, X, y, options.batch)
            base = base or spent[0]
            report(name, model, *spent)
        for passes in (1, 5):
            sgd = SGDClassifier(loss="log_loss", random_state=0)
            spent = stream(sgd, X, y, options.batch, passes)
            report(f"SGDClassifier, {passes} pass(es)", sgd, *spent)
            start = time.process_time()
            calibrated = CalibratedClassifierCV(FrozenEstimator(sgd)).fit(*extra)
            report("  calibrated on further rows", calibrated, spent[0] + time.process_time() - start)
            print(f"  SGD / ours in seconds of processor time: {spent[0] / base:.2f}")


if __name__ == "__main__":
    main()
