"""The tools of the long runs see what they are for: a slope, a leak, a script that fails."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SOAK = Path(__file__).parent / "soak"
sys.path.append(str(SOAK))
from growth import growth  # noqa: E402
from records import Record, chance_of_largest, chance_of_smallest  # noqa: E402

scripts = runpy.run_path(str(SOAK / "run.py"))["scripts"]


def walk(n, rng):
    """A series that wanders without a trend: neighbours are alike."""
    noise = rng.normal(size=n)
    for k in range(1, n):
        noise[k] += 0.8 * noise[k - 1]
    return 500.0 + noise


def test_what_is_flat_does_not_grow(rng):
    false_alarms = sum(growth(walk(240, rng), 0.0).grows for _ in range(200))
    assert false_alarms <= 4  # 0.2 expected at a level of 0.999, a few more since blocks are not quite independent
    assert not growth(np.full(60, 8.0), 0.5).grows


def test_a_slope_is_seen_with_its_error(rng):
    leaking = walk(240, rng) + 0.1 * np.arange(240)
    found = growth(leaking, 4.0)
    assert found.grows
    assert abs(found.change - 16 * 11 / 12) < 4 * found.error + 1.0  # two thirds of 240 steps, between mid-blocks
    assert growth(np.repeat(np.arange(20.0), 3), 0.5).grows
    assert not growth(leaking, 100.0).grows


def test_filling_up_at_first_is_no_growth(rng):
    assert not growth(walk(240, rng) + np.minimum(np.arange(240), 70), 4.0).grows


def test_too_few_values_are_refused():
    with pytest.raises(ValueError, match="too few"):
        growth(np.ones(10), 0.0)


def test_a_record_is_what_the_page_needs(tmp_path):
    Record("Some", "something", 3, ["one"], figures={"x": 1.0}).keep(tmp_path / "deep" / "some.json")
    found = json.loads((tmp_path / "deep" / "some.json").read_text())
    assert list(found) == ["item", "tried", "times", "failed", "lost", "figures", "date", "versions"]
    assert (found["times"], found["failed"], found["figures"]) == (3, ["one"], {"x": 1.0})
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["some.json"]


def test_chances_of_the_largest_and_smallest_of_many(rng):
    normal = np.abs(rng.normal(size=(20_000, 30)))
    for errors in (1.9, 2.5, 3.0):
        assert chance_of_largest(errors, 30) == pytest.approx((normal.max(axis=1) > errors).mean(), abs=0.012)
    uniform = rng.random((20_000, 30))
    assert chance_of_smallest(0.01, 30) == pytest.approx((uniform.min(axis=1) < 0.01).mean(), abs=0.012)
    assert chance_of_largest(20.0, 100) == pytest.approx(200 * 2.753624e-89, rel=1e-6)


def test_every_script_takes_a_time_and_a_place():
    for name, path in scripts().items():
        text = path.read_text(encoding="utf-8")
        assert "arguments(__file__" in text, name
        assert ".keep(given.keep)" in text, name
    assert {"cycles", "fuzz"} <= set(scripts())
    assert not {"run", "growth", "records"} & set(scripts())


@pytest.mark.slow
@pytest.mark.parametrize("leak", ["memory", "objects", "handles", "threads", "files", None])
def test_cycles_see_what_is_lost_on_purpose(leak, tmp_path):
    command = [sys.executable, str(SOAK / "cycles.py"), "--minutes", "1.5", "--keep", str(tmp_path / "c.json")]
    command += ["--only", "machine", *(["--leak", leak] if leak else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads((tmp_path / "c.json").read_text())
    grown = {said.split(" grew")[0] for said in found["failed"]}
    assert grown >= ({leak} if leak else set()), done.stderr
    assert bool(grown) == (leak is not None)
    assert done.returncode == bool(leak)
