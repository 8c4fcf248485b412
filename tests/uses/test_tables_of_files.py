"""Tables from files without pandas: what is read, what is refused, and in which words."""

import numpy as np
import pytest
from sklearn.base import clone

from bayespoint import BayesPointClassifier
from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses.tables import Column, Frame, inputs_for, labels_for, labels_of, read_table, warn_of_names

TEXT = "age,job,side,y\n31,clerk,left,no\n,smith,right,yes\n47.5,,left,no\n22,clerk,?,yes\n"


def written(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_numbers_text_and_gaps(tmp_path, delimiter, start):
    frame = read_table(written(tmp_path, start + TEXT.replace(",", delimiter))).typed()
    assert frame.types == [Column("age", "number"), *(Column(name, "nominal") for name in ("job", "side", "y"))]
    np.testing.assert_array_equal(frame.data["age"], [31, np.nan, 47.5, 22])
    assert frame.data["job"].tolist() == ["clerk", "smith", None, "clerk"]
    assert frame.row(1) == {"age": None, "job": "smith", "side": "right", "y": "yes"}
    assert (frame.shape, frame.gaps) == ((4, 4), 3)


def test_quotes_and_commas_in_fields(tmp_path):
    frame = read_table(written(tmp_path, 'a,b\n"x, y","say ""z"""\n'))
    assert frame.row(0) == {"a": "x, y", "b": 'say "z"'}


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table(
        {
            "n": [1, None, 3],
            "t": ["a", None, "b"],
            "b": [True, False, None],
            "d": pa.array(["u", "v", "u"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "data.parquet")
    frame = read_table(tmp_path / "data.parquet").typed()
    assert [column.type for column in frame.types] == ["number", "nominal", "nominal", "nominal"]
    assert frame.data["b"].tolist() == ["True", "False", None]
    pq.write_table(pa.table({"when": pa.array([0, 1], pa.timestamp("s"))}), tmp_path / "dates.parquet")
    with pytest.raises(InvalidProblemError, match="'when' holds dates"):
        read_table(tmp_path / "dates.parquet")
    with pytest.raises(InvalidProblemError, match="no parquet file"):
        read_table(written(tmp_path, "nothing", "half.parquet"))


REFUSED = {
    "is empty": "",
    "has a header and no rows": "a,b\n",
    "Line 3 of .* has 1 fields and the header 2": "a,b\n1,2\n3\n",
    "two columns 'a'": "a,a\n1,2\n",
    "Column 2 of .* has no name": "a,\n1,2\n",
    "not text in UTF-8": b"\xff\xfea,b\n1,2\n",
    "is no CSV": 'a,b\n"1,2\n',
}


@pytest.mark.parametrize(("sentence", "text"), REFUSED.items(), ids=REFUSED)
def test_what_is_no_table(tmp_path, sentence, text):
    with pytest.raises(InvalidProblemError, match=sentence):
        read_table(written(tmp_path, text))


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_table(tmp_path / "missing.csv")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        read_table(tmp_path)
    with pytest.raises(InvalidProblemError, match="by its ending"):
        read_table(written(tmp_path, "x", "data.xlsx"))


@pytest.mark.parametrize("dates", ["2020-01-31", "31.12.1999", "1/2/2020", "2020-01-31T10:00:00", "2020-01-31 10:00"])
def test_dates_are_refused_by_name(tmp_path, dates):
    frame = read_table(written(tmp_path, f"a,when\n1,{dates}\n2,\n"))
    with pytest.raises(InvalidProblemError, match="'when' holds dates"):
        frame.typed()
    assert frame.without(["when"]).typed().columns == ["a"]


def test_labels(tmp_path):
    frame = read_table(written(tmp_path, "a,y\n1,0\n2,1\n3,\n"))
    with pytest.warns(UserWarning, match="1 of 3 rows have no label"):
        rows, labels = labels_of(frame, "y")
    assert (rows.columns, labels.tolist(), len(rows)) == (["a"], ["0", "1"], 2)
    with pytest.raises(InvalidProblemError, match="no column 'z'; it has 'a', 'y'"):
        labels_of(frame, "z")
    with pytest.raises(InvalidProblemError, match="is empty"):
        labels_of(read_table(written(tmp_path, "a,y\n1,\n")), "y")
    with pytest.raises(InvalidProblemError, match="single label 'p'"):
        labels_of(read_table(written(tmp_path, "a,y\n1,p\n")), "y")
    with pytest.raises(InvalidProblemError, match="no column but the target"):
        labels_of(read_table(written(tmp_path, "y\np\nq\n")), "y")
    measured = "a,y\n" + "\n".join(f"1,{i / 7}" for i in range(30))
    with pytest.raises(InvalidProblemError, match="classes, not measurements"):
        labels_of(read_table(written(tmp_path, measured)), "y")


def test_names_of_cases_are_pointed_out(tmp_path):
    frame = read_table(written(tmp_path, "a,id\n" + "\n".join(f"{i},case {i}" for i in range(30)))).typed()
    with pytest.warns(UserWarning, match="'id' has another text in every row"):
        warn_of_names(frame)


def people(n=40):
    rng = np.random.default_rng(0)
    age, job = rng.normal(40, 10, n), np.array(["clerk", "smith"], dtype=object)[rng.integers(2, size=n)]
    doors = np.array(["2", "4", "5more"], dtype=object)[rng.integers(3, size=n)]
    return Frame({"age": age, "job": job, "doors": doors}), np.where(age + 10 * (job == "clerk") > 45, "old", "young")


def test_models_get_columns_by_name_in_the_form_they_had():
    frame, y = people()
    model = BayesPointClassifier(None, optimizer=None).fit(frame, y)
    truth = model.predict_proba(frame)
    data = {name: frame.data[name] for name in ("doors", "age", "job")} | {"more": frame.data["age"]}
    np.testing.assert_array_equal(model.predict_proba(inputs_for(model, Frame(data), frame.types)), truth)
    some = Frame(dict(frame.data))[frame.data["doors"] != "5more"]
    numbers = Frame(
        {**some.data, "doors": some.data["doors"].astype(float)}
    )  # what a file of these rows alone reads as
    got = model.predict_proba(inputs_for(model, numbers, frame.types))
    np.testing.assert_array_equal(got, model.predict_proba(some))
    with pytest.raises(InvalidProblemError, match="no column 'job'"):
        inputs_for(model, frame.without(["job"]), frame.types)
    wrong = Frame({**frame.data, "age": np.array(["x"] * len(frame), dtype=object)})
    with pytest.raises(InvalidProblemError, match=r"'age' held numbers .* row 1 of the table has 'x'"):
        inputs_for(model, wrong, frame.types)


def test_a_model_fitted_to_a_frame_of_pandas_takes_files():
    pd = pytest.importorskip("pandas")
    frame, y = people()
    theirs = pd.DataFrame({"age": frame.data["age"], "clerk": frame.data["job"] == "clerk"})
    model = BayesPointClassifier(None, optimizer=None).fit(theirs, y)
    texts = np.array([str(value) for value in theirs["clerk"]], dtype=object)
    columns = [Column("age", "number"), Column("clerk", "nominal")]
    rows = inputs_for(model, Frame({"age": frame.data["age"], "clerk": texts}), columns)
    with pytest.warns(UserWarning, match="valid feature names"):
        ours = model.predict_proba(rows)
    np.testing.assert_array_equal(ours, model.predict_proba(theirs))


@pytest.mark.parametrize("classes", [["no", "yes"], [0, 1], [False, True]])
def test_labels_as_the_model_has_them(classes):
    frame, _ = people()
    model = clone(BayesPointClassifier(None, optimizer=None)).fit(frame, np.asarray(classes)[np.arange(40) % 2])
    texts = np.array([str(classes[1]), None, str(classes[0])], dtype=object)
    known, y = labels_for(model, Frame({"y": texts}), "y")
    assert known.tolist() == [True, False, True]
    assert y.tolist() == [classes[1], classes[0]]
    with pytest.raises(InvalidProblemError, match="has the label 'maybe', and the model knows"):
        labels_for(model, Frame({"y": np.array(["maybe"], dtype=object)}), "y")
