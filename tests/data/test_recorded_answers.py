"""Files of answers that were collected elsewhere: what is read, and what is refused."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from leakrange.data.importing import answers as reading
from leakrange.data.importing import released
from leakrange.data.importing.answer_columns import AnswerColumns
from leakrange.data.importing.answers import RecordedAnswers, read_answers
from leakrange.wire.errors import InvalidInput
from tests.data.answered import CLASSES, scored
from tests.data.tables import write_rows

COLUMNS = AnswerColumns(("p_*",), member="in_training", hidden="gender", target="label")


def written(path: Path, **changes: dict[int, object]) -> Path:
    """The answers as CSV, with some cells changed: by column, the values by row."""
    columns = {name: list(values.tolist()) for name, values in scored(60).items()}
    for name, cells in changes.items():
        for row, value in cells.items():
            columns[name][row] = value
    return write_rows(
        path, [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    )


def test_columns_become_answers_labels_members_and_an_attribute(tmp_path: Path) -> None:
    answers = read_answers(written(tmp_path / "a.csv", label={7: ""}), COLUMNS)
    columns = scored(60)
    assert answers.values.dtype == np.float32
    np.testing.assert_allclose(answers.values[:, 2], columns["p_high"], rtol=1e-6)
    assert answers.classes == CLASSES
    names = [CLASSES[each] if each >= 0 else "" for each in np.asarray(answers.labels)]
    assert names == ["" if row == 7 else name for row, name in enumerate(columns["label"])]
    assert np.asarray(answers.members).tolist() == (columns["in_training"] == 1).tolist()
    assert answers.hidden is not None
    assert answers.hidden.attribute.classes == ("female", "male")
    assert (answers.hidden.values == 0).tolist() == (columns["gender"] == "female").tolist()
    assert answers.group is None


def test_the_same_answers_are_read_from_parquet_and_npz(tmp_path: Path) -> None:
    columns = scored(60)
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    np.savez(tmp_path / "a.npz", **columns)
    first = read_answers(written(tmp_path / "a.csv"), COLUMNS)
    for name in ("a.parquet", "a.npz"):
        other = read_answers(tmp_path / name, COLUMNS)
        np.testing.assert_allclose(other.values, first.values)
        assert np.array_equal(np.asarray(other.labels), np.asarray(first.labels))
        assert other.sha256 != first.sha256


def test_one_column_is_the_probability_or_the_logit_of_the_second_of_two_classes(tmp_path: Path) -> None:
    rows = [{"score": 0.25, "y": "no", "member": "yes"}, {"score": 0.75, "y": "yes", "member": "no"}]
    path, columns = (
        write_rows(tmp_path / "a.csv", rows),
        AnswerColumns(("score",), member="member", target="y"),
    )
    soft = read_answers(path, columns)
    assert soft.values.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert np.asarray(soft.labels).tolist() == [0, 1]
    assert read_answers(path, columns, "logits").values.tolist() == [[0.0, 0.25], [0.0, 0.75]]
    assert read_answers(path, AnswerColumns(("score",), member="member"), "features").values.tolist() == [
        [0.25],
        [0.75],
    ]


def test_decisions_alone_are_answers_that_are_sure(tmp_path: Path) -> None:
    rows = [{"said": said, "y": y, "m": m} for said, y, m in [("b", "c", 1), ("a", "a", 0), ("b", "b", 0)]]
    path, columns = write_rows(tmp_path / "a.csv", rows), AnswerColumns(("said",), member="m", target="y")
    answers = read_answers(path, columns, "decision")
    assert (answers.release, answers.classes) == ("softmax", ("a", "b", "c"))
    assert answers.values.tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0]]
    assert np.asarray(answers.labels).tolist() == [2, 0, 1]
    for changed, sentence in [
        ([*rows, {"said": "?", "y": "a", "m": 0}], "row 4 has no decision in column 'said'"),
        ([{"said": "a", "y": "a", "m": each} for each in (0, 1)], "has one decision alone"),
        ([*rows, {"said": "a\x1b[2J", "y": "a", "m": 0}], "is no name for a class"),
    ]:
        with pytest.raises(InvalidInput, match=sentence):
            read_answers(write_rows(path, changed), columns, "decision")
    with pytest.raises(InvalidInput, match="a decision lies in one column"):
        read_answers(path, AnswerColumns(("said", "y"), member="m"), "decision")


def test_classes_are_what_names_differ_in_after_a_separator(tmp_path: Path) -> None:
    rows = [{"p_long": 0.5, "p_low": 0.5, "member": each, "y": "low"} for each in (1, 0)]
    path = write_rows(tmp_path / "a.csv", rows)
    answers = read_answers(path, AnswerColumns(("p_*",), member="member", target="y"))
    assert (answers.classes, np.asarray(answers.labels).tolist()) == (("long", "low"), [1, 1])


def test_people_and_what_is_known_are_read(tmp_path: Path) -> None:
    rows = [
        {"p": 0.5, "m": i % 2, "who": who, "age": age, "town": town}
        for i, (who, age, town) in enumerate(
            [("ann", 30, "b"), ("", 40, "a"), ("ann", "", "a"), ("bob", 50, "a"), ("", 40, "b")]
        )
    ]
    columns = AnswerColumns(("p",), member="m", person="who", known=("age", "town"))
    answers = read_answers(write_rows(tmp_path / "a.csv", rows), columns)
    group = np.asarray(answers.group)
    assert group[0] == group[2]
    assert len(set(group.tolist())) == 4
    assert np.asarray(answers.known).tolist() == [
        [30, 0, 0, 1],
        [40, 0, 1, 0],
        [40, 1, 1, 0],  # the mean where it is missing, and marked
        [50, 0, 1, 0],
        [40, 0, 0, 1],
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"p_low": {17: "nan"}}, "row 18 has no finite number in column 'p_low'"),
        ({"p_mid": {3: ""}}, "row 4 has '' in column 'p_mid', which is no number"),
        ({"p_mid": {3: "1e999"}}, "row 4 has no finite number in column 'p_mid'"),
        ({"p_mid": {3: "=1+1"}}, "row 4 has '=1+1' in column 'p_mid', which is no number"),
        ({"p_low": {5: 1.9}}, "row 6 holds a number outside of 0 to 1"),
        ({"p_low": {5: 0.9}, "p_mid": {5: 0.9}, "p_high": {5: 0.1}}, "row 6 sums to 1.9, not to 1"),
        (
            {"label": {9: "huge"}},
            "column 'label' holds 'huge', which is no class of the scores: low, mid, high",
        ),
        ({"in_training": dict.fromkeys(range(60), 1)}, "column 'in_training' has members alone"),
        ({"in_training": {4: ""}}, "column 'in_training' does not say of 1 rows"),
        ({"in_training": {4: "perhaps"}}, "should say who was trained on, and holds 'perhaps'"),
        ({"gender": dict.fromkeys(range(60), "male")}, "column 'gender' has one value alone"),
    ],
)
def test_a_wrong_cell_is_told_with_its_row(
    tmp_path: Path, changes: dict[str, dict[int, object]], sentence: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_answers(written(tmp_path / "a.csv", **changes), COLUMNS)
    assert sentence in refused.value.detail
    assert refused.value.hint or "one value" in sentence


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (AnswerColumns(("p_*",)), "nothing is asked for"),
        (AnswerColumns(("q_*",), member="in_training"), "there is no column 'q_*'"),
        (AnswerColumns(("p_*",), member="member"), "there is no column 'member'"),
        (AnswerColumns(("p_*",), member="in_training", hidden="in_training"), "'in_training' has two parts"),
        (AnswerColumns(("p_*", "gender"), hidden="gender"), "'gender' has two parts"),
        (AnswerColumns(("gen*",), hidden="gender"), "no column is left for the model's scores"),
        (AnswerColumns(("p_*",), hidden="id"), "column 'id' has"),
        (AnswerColumns(("p_*",), hidden="gender", known=("id",)), "the columns of --known hold nothing"),
    ],
)
def test_a_wrong_use_of_columns_is_told(tmp_path: Path, columns: AnswerColumns, sentence: str) -> None:
    path = written(tmp_path / "a.csv", id={row: f"{row} {'x' * 70}" for row in range(60)})
    with pytest.raises(InvalidInput, match="^" + ".*" + sentence.replace("*", r"\*")):
        read_answers(path, columns)


def test_what_does_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.csv")
    monkeypatch.setattr(released, "MOST_NUMBERS", 100)
    with pytest.raises(InvalidInput, match="more than 33 answers of 3 values"):
        read_answers(path, COLUMNS)
    with pytest.raises(InvalidInput, match="more than 33 answers of 3 values"):
        read_answers(path, AnswerColumns(("label",), member="in_training"), "decision")
    monkeypatch.undo()
    monkeypatch.setattr(reading, "MOST_NUMBERS", 100)
    with pytest.raises(InvalidInput, match="does not fit into memory"):
        read_answers(path, AnswerColumns(("p_*",), member="in_training", known=("region",)))


def test_a_ragged_row_and_a_missing_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("p_a,p_b,m\n0.5,0.5,1\n0.5,1\n")
    with pytest.raises(InvalidInput, match="row 2 has 2 values, the heading 3"):
        read_answers(path, AnswerColumns(("p_*",), member="m"))
    with pytest.raises(InvalidInput, match="there is no file"):
        read_answers(tmp_path / "none.csv", COLUMNS)
    path.write_text("p_a,p_b,m\n")
    with pytest.raises(InvalidInput, match="holds no rows"):
        read_answers(path, AnswerColumns(("p_*",), member="m"))


def test_further_columns_are_joined_from_another_file(tmp_path: Path) -> None:
    answers = [{"request": name, "sample": place, "p": 0.5} for name in ("b", "a", "c") for place in (0, 1)]
    labels = [
        {"sample": place, "request": name, "who": f"{name}{place}", "m": member}
        for name, place, member in (("a", 0, 1), ("a", 1, 0), ("b", 1, 1), ("b", 1, 1), ("z", 0, 0))
    ]
    first, second = write_rows(tmp_path / "a.csv", answers), write_rows(tmp_path / "l.csv", labels)
    columns = AnswerColumns(("p",), member="m", person="who")
    joined = read_answers(first, columns, labels=second, by=("request", "sample"))
    assert np.asarray(joined.members).tolist() == [True, True, False]  # b1, a0, a1
    assert joined.unmatched == 3
    parquet.write_table(pyarrow.Table.from_pylist(labels), tmp_path / "l.parquet")
    other = read_answers(first, columns, labels=tmp_path / "l.parquet", by=("request", "sample"))
    assert np.array_equal(np.asarray(other.members), np.asarray(joined.members))
    vague = write_rows(tmp_path / "v.csv", [{"request": each["request"], "m": each["m"]} for each in labels])
    for by, labels_, sentence in [
        (("request",), vague, "has two rows for 'a', which say different things"),
        (("who",), second, r"a\.csv has no column 'who' to join by"),
        (("request", "sample", "p"), first, "has no columns but those to join by"),
        (("request",), first, "both have a column 'sample'"),
        (("sample", "request"), write_rows(tmp_path / "n.csv", labels[-1:]), "holds no rows that .* says"),
    ]:
        with pytest.raises(InvalidInput, match=sentence):
            read_answers(first, columns, labels=labels_, by=by)


CELLS = st.one_of(
    st.sampled_from(
        ["0", "1", "0.5", "-0", "nan", "inf", "1e309", "", "?", '"', "=1", "yes", "train", "\x00"]
    ),
    st.floats(0, 1).map(repr),
    st.text(max_size=6),
)


@settings(max_examples=60)
@given(
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=5), max_size=8),
    release=st.sampled_from(["softmax", "logits", "features", "decision"]),
)
def test_any_file_is_read_or_refused_with_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], release: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    text = "\n".join(",".join(row) for row in [["p_a", "p_b", "member", "y"], *rows])
    path.write_bytes(text.encode(errors="surrogatepass"))
    columns = AnswerColumns(("p_a" if release == "decision" else "p_*",), member="member", target="y")
    with contextlib.suppress(InvalidInput):
        check(read_answers(path, columns, release))  # type: ignore[arg-type]


def check(answers: RecordedAnswers) -> None:
    assert np.isfinite(answers.values).all()
    assert 0 < np.asarray(answers.members).sum() < len(answers.values)
    if answers.release == "softmax":
        assert (np.abs(answers.values.sum(axis=1) - 1) < 0.06).all()
    if answers.release != "features":
        assert np.asarray(answers.labels).max() < answers.values.shape[1]
