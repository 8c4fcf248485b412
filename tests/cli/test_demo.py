"""The first command after ``pip install .``: with the dependencies of a plain install, and with matplotlib."""

import subprocess
import sys

import pytest

EXTRAS = ("pandas", "matplotlib", "pyarrow", "dask", "distributed", "ray", "arviz", "arviz_base", "arviz_stats")
WITHOUT_EXTRAS = f"""
import sys

class Missing:  # as in a fresh environment; None in sys.modules is more than that, scikit-learn would trip over it
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


def run_in_a_new_process(code, cwd):
    return subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=cwd, capture_output=True, text=True)


def test_demo_of_a_plain_install(tmp_path):
    code = f"{WITHOUT_EXTRAS}\nfrom bayespoint.cli import main\nsys.exit(main(['demo']))"
    done = run_in_a_new_process(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for said in (
        "BayesPointClassifier()",
        "kernels, by",
        "log-evidence",
        "leave-one-out",
        "No picture: matplotlib is missing",
    ):
        assert said in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("extra", EXTRAS)
def test_blocked_imports_are_blocked(extra, tmp_path):
    """The control: the environment of the test above has no extras indeed."""
    done = run_in_a_new_process(f"{WITHOUT_EXTRAS}\nimport {extra}", tmp_path)
    assert f"No module named '{extra}'" in done.stderr


def test_demo_with_matplotlib_saves_its_picture(tmp_path, capsys):
    from bayespoint.cli import main

    picture = tmp_path / "demo.png"
    assert main(["demo", "--picture", str(picture)]) == 0
    assert f"saved {picture}" in capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
