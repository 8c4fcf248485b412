"""Files that were damaged, or made to do harm, are refused in one sentence, and nothing of them is run."""

import copy
import hashlib
import io
import json
import pickle
import sys
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.exceptions import ModelFileError

X, Y = make_moons(12, noise=0.3, random_state=0)
RAN = []


def harm():
    RAN.append("harm")


class Harm:
    """What a pickle could do."""

    def __reduce__(self):
        return harm, ()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "model"
    model = BayesPointClassifier(ConstantKernel(4.0) * RBF(1.0), optimizer=None)
    bayespoint.save(make_pipeline(StandardScaler(), model).fit(X, Y), path)
    bayespoint.load(path)  # modules that are imported on the way are no harm
    return path.read_bytes()


def parts_of(raw):
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        page = json.loads(archive.read("model.json"))
        return page, [archive.read(f"arrays/{i}") for i in range(len(page["arrays"]))]


def archived(parts, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, raw in parts:
            archive.writestr(name, raw)
    return out.getvalue()


def made_of(page, arrays, text=None, **options):
    """A file whose checksums are right, whatever is in it."""
    listed = [{"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()} for raw in arrays]
    text = json.dumps(page | {"arrays": listed}).encode() if text is None else text
    sums = hashlib.sha256(text).hexdigest().encode()
    named = [(f"arrays/{i}", raw) for i, raw in enumerate(arrays)]
    return archived([("model.json", text), ("model.json.sha256", sums), *named], **options)


def changed(change):
    """A file with its page and arrays changed, its checksums made anew."""

    def make(raw):
        page, arrays = parts_of(raw)
        change(page, arrays)
        return made_of(page, arrays)

    return make


def node(page, kind, name=None):
    return next(one for one in page["nodes"] if one[0] == kind and (name is None or one[1] == name))


def a_number(page, arrays, value):
    """An entry of the posterior's weights becomes another number."""
    state = node(page, "object", "bayespoint.GaussianPosterior")[2]
    for number in (page["nodes"][state["alpha"]["node"]][4], weights_of(page)):
        entries = np.frombuffer(arrays[number]).copy()
        entries[0] = value
        arrays[number] = entries.tobytes()


def weights_of(page):
    gaussian = page["nodes"][node(page, "object", "bayespoint.GaussianPosterior")[2]["gaussian"]["node"]]
    arrays = [page["nodes"][ref["node"]] for ref in gaussian[2].values() if isinstance(ref, dict)]
    return next(one[4] for one in arrays if one[0] == "array")


def set_node(kind, place, value, name=None):
    def change(page, _):
        node(page, kind, name)[place] = value

    return changed(change)


def set_state(name, key, value):
    def change(page, _):
        node(page, "object", name)[2][key] = value

    return changed(change)


def drop_state(name, key):
    return changed(lambda page, _: node(page, "object", name)[2].pop(key))


def prepended(extra):
    return changed(lambda page, _: page["nodes"].insert(0, extra))


def with_old_sums(change):
    """A sound archive whose page or arrays were changed, and their checksums were not."""

    def make(raw):
        page, arrays = parts_of(raw)
        text = json.dumps(page).encode()
        sums = hashlib.sha256(text).hexdigest().encode()
        text, arrays = change(text, arrays)
        named = [(f"arrays/{i}", one) for i, one in enumerate(arrays)]
        return archived([("model.json", text), ("model.json.sha256", sums), *named])

    return make


def edited_in_place(old, new):
    return lambda raw: raw.replace(old, new)


STEP, FITTED, POSTERIOR = "bayespoint.Step", "bayespoint.Fitted", "bayespoint.GaussianPosterior"
DAMAGE = {
    "empty": (lambda raw: b"", "no model file, or only a part"),
    "half": (lambda raw: raw[: len(raw) // 2], "no model file, or only a part"),
    "all but one byte": (lambda raw: raw[:-1], "no model file, or only a part|cut off"),
    "some other file": (lambda raw: b"a,b\n1,2\n", "no model file, or only a part"),
    "a pickle": (lambda raw: pickle.dumps(Harm()), "no model file, or only a part"),
    "a pickle inside": (lambda raw: archived([("model.json", pickle.dumps(Harm()))]), "other names"),
    "a pickle for a page": (lambda raw: made_of({}, [], text=pickle.dumps(Harm())), "no JSON"),
    "a page of another text": (edited_in_place(b'"softness":1.0', b'"softness":2.0'), "damaged"),
    "a page with the old sum": (
        with_old_sums(lambda text, arrays: (text.replace(b'"softness": 1.0', b'"softness": 2.0'), arrays)),
        "its checksum is wrong",
    ),
    "an array with the old sum": (
        with_old_sums(lambda text, arrays: (text, [arrays[0][::-1], *arrays[1:]])),
        "the checksum of an array is wrong",
    ),
    "a zip bomb": (
        lambda raw: made_of(*parts_of(raw), compression=zipfile.ZIP_DEFLATED),
        "compressed or encrypted",
    ),
    "a path as a name": (
        lambda raw: archived([("model.json", b"{}"), ("model.json.sha256", b""), ("../../evil", b"")]),
        "other names",
    ),
    "a page too deep": (lambda raw: made_of({}, [], text=b"[" * 200_000 + b"]" * 200_000), "no JSON"),
    "a number too long": (lambda raw: made_of({}, [], text=b'{"version": ' + b"9" * 5000 + b"}"), "no JSON"),
    "no arrays listed": (lambda raw: made_of({}, [], text=b"{}"), "does not list its arrays"),
    "some other format": (changed(lambda page, _: page.update(format="x")), "no model file of this library"),
    "a later version": (changed(lambda page, _: page.update(version=99)), "version 99.*install"),
    "no nodes": (changed(lambda page, _: page.update(nodes=[])), "no nodes"),
    "an unknown class": (set_node("object", 1, "os.system", STEP), "holds 'os.system'"),
    "a class of Python": (set_node("object", 1, "builtins.eval", STEP), "holds 'builtins.eval'"),
    "a function of Python": (prepended(["function", "os.system"]), "names the function 'os.system'"),
    "an unknown kind": (prepended(["reduce", "os.system", ["true"]]), "unknown kind"),
    "a later node": (set_state(FITTED, "model", {"node": 10**6}), "not there"),
    "a node of itself": (prepended(["list", [{"node": 0}]]), "not there"),
    "objects in an array": (set_node("array", 1, "|O"), "may not be in a file"),
    "an array of no type": (set_node("array", 1, "<f99x"), "unknown type"),
    "a type with a shape": (set_node("array", 1, "(1000,1000)f8"), "may not be in a file|unknown type"),
    "a huge shape": (set_node("array", 2, [2**40, 2**40]), "not the size that its shape says"),
    "a shape below zero": (set_node("array", 2, [-1]), "impossible shape"),
    "a shape of text": (set_node("array", 2, ["1"]), "impossible shape"),
    "an array elsewhere": (set_node("array", 4, 10**6), "not there"),
    "NaN": (changed(lambda page, arrays: a_number(page, arrays, np.nan)), "not finite"),
    "infinity": (changed(lambda page, arrays: a_number(page, arrays, np.inf)), "not finite"),
    "a part too many": (set_state(FITTED, "shell", "rm"), "has a part 'shell'"),
    "a part too few": (drop_state(FITTED, "model"), "lacks the part 'model'"),
    "a method hidden": (set_state("bayespoint.BayesPointClassifier", "predict_proba", 1), "a part 'predict_proba'"),
    "a name of Python": (set_state("bayespoint.BayesPointClassifier", "__class__", 1), "a part '__class__'"),
    "a class in the wrong place": (set_state(FITTED, "model", {"node": 0}), "do not fit together"),
    "a cache directory": (set_state("sklearn.Pipeline", "memory", "/tmp/x"), "no pipeline with a cache"),
    "an impossible sparse matrix": (
        prepended(["sparse", "csr_array", [2, 2], []]),
        "do not fit together",
    ),
    "a strange generator": (prepended(["generator", "Generator", None]), "where a dict belongs"),
    "no classifier": (changed(lambda page, _: page["nodes"].append(["list", []])), "no classifier"),
    "a classifier not fitted": (drop_state("bayespoint.BayesPointClassifier", "fitted_"), "is not fitted"),
}


def test_the_crafted_files_differ_from_good_ones_by_the_change_alone(whole, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(changed(lambda page, arrays: None)(whole))
    assert bayespoint.load(path).predict(X).shape == (12,)


@pytest.mark.parametrize(("damage", "sentence"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_refused_in_one_sentence(damage, sentence, whole, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(damage(whole))
    with watched() as events, pytest.raises(ModelFileError, match=sentence) as found:
        bayespoint.load(path)
    assert not events
    assert not RAN
    message = str(found.value)
    assert message.startswith(f"The model file '{path}' cannot be read: ")
    assert message.endswith(".")
    assert "\n" not in message


def test_harm_would_be_noticed(tmp_path):
    """The control of the tests above."""
    with watched() as events:
        pickle.loads(pickle.dumps(Harm()))
    assert "pickle.find_class" in events
    assert RAN
    RAN.clear()


def test_every_byte_counts(whole, tmp_path):
    """A file with one byte changed is refused or, where the byte is of the archive's own, the same model."""
    path, rng = tmp_path / "model", np.random.default_rng(0)
    path.write_bytes(whole)
    truth = bayespoint.load(path).predict_proba(X)
    refused = 0
    for place in rng.choice(len(whole), 150, replace=False):
        raw = bytearray(whole)
        raw[place] ^= 1 << rng.integers(8)
        refused += not same_or_refused(bytes(raw), path, truth)
    assert refused > 75


def test_no_file_and_a_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no model file"):
        bayespoint.load(tmp_path / "missing")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        bayespoint.load(tmp_path)


@pytest.mark.slow
def test_thousands_of_damaged_files(whole, tmp_path):
    path, rng = tmp_path / "model", np.random.default_rng(1)
    path.write_bytes(whole)
    truth = bayespoint.load(path).predict_proba(X)
    for _ in range(3000):
        raw = bytearray(whole)
        for place in rng.choice(len(raw), rng.integers(1, 8), replace=False):
            raw[place] = rng.integers(256)
        if rng.random() < 0.3:
            start = rng.integers(len(raw))
            del raw[start : start + rng.integers(1, 400)]
        same_or_refused(bytes(raw), path, truth)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_thousands_of_crafted_files(whole, tmp_path):
    """Checksums are right, and parts are anything: loaded or refused, and nothing else."""
    path, rng = tmp_path / "model", np.random.default_rng(2)
    loaded = 0
    with watched() as events:
        for _ in range(3000):
            page, arrays = parts_of(whole)
            for _ in range(rng.integers(1, 4)):
                mutate(page, arrays, rng)
            path.write_bytes(made_of(page, arrays))
            with suppress(ModelFileError):
                bayespoint.load(path)
                loaded += 1
    assert not events
    assert 0 < loaded < 3000


def same_or_refused(raw, path, truth):
    path.write_bytes(raw)
    try:
        again = bayespoint.load(path)
    except ModelFileError:
        return False
    np.testing.assert_array_equal(again.predict_proba(X), truth)
    return True


def mutate(page, arrays, rng):
    """Some place of a node, or of an array, has something else."""
    if rng.random() < 0.2:
        raw = bytearray(arrays[k := rng.integers(len(arrays))])
        if raw:
            raw[rng.integers(len(raw))] = rng.integers(256)
        arrays[k] = bytes(raw[: rng.integers(len(raw) + 1)] if rng.random() < 0.3 else raw)
        return
    here = page["nodes"][rng.integers(len(page["nodes"]))]
    while True:
        keys = list(here) if isinstance(here, dict) else range(len(here))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if isinstance(here[key], list | dict) and rng.random() < 0.7:
            here = here[key]
            continue
        here[key] = ANYTHING[rng.integers(len(ANYTHING))](page, rng)
        return


WORDS = ["object", "list", "array", "bayespoint.Fitted", "numpy.exp", "rbf", "<f8", "x" * 100]
ANYTHING = [
    lambda page, rng: None,
    lambda page, rng: int(rng.integers(-3, 100)),
    lambda page, rng: 2**70,
    lambda page, rng: float(rng.normal()),
    lambda page, rng: WORDS[rng.integers(len(WORDS))],
    lambda page, rng: {"node": int(rng.integers(len(page["nodes"])))},
    lambda page, rng: {"other": 1},
    lambda page, rng: copy.deepcopy(page["nodes"][rng.integers(len(page["nodes"]))]),
]


class watched:
    """Events of Python's audit that a model file must not cause."""

    listener, started = None, False
    harmful = frozenset(
        {"pickle.find_class", "os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "socket.connect", "exec"}
    )

    def __enter__(self):
        if not watched.started:
            sys.addaudithook(watched.hear)
            watched.started = True
        watched.listener = []
        return watched.listener

    def __exit__(self, *_):
        watched.listener = None

    @staticmethod
    def hear(event, _):
        if watched.listener is not None and event in watched.harmful:
            watched.listener.append(event)
