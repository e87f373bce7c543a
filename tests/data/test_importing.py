"""A user's table becomes a data set: what its columns become, who stays with whom, and broken files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakrange.data import SPLITS, Samples, datasets, load
from leakrange.data.importing import ColumnUse, arrays, import_set
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import InvalidInput, LeakrangeError
from tests.data.tables import customers, write_rows

USE = ColumnUse("exited", ("gender",))
WHOLE = {"validation": 0.0, "auxiliary": 0.0}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "data"))
    return tmp_path


def imported(path: Path, use: ColumnUse = USE) -> Samples:
    import_set(path, "mine", use)
    return load(DataSpec(name="mine", **WHOLE))


def test_columns_become_numbers_and_categories_and_the_others_are_left_out(root: Path) -> None:
    prepared = import_set(write_rows(root / "a.csv", customers()), "mine", USE)
    kinds = {plan.name: plan.kind for plan in prepared.columns}
    assert kinds == {
        "customer_id": "left out",
        "since": "left out",
        "balance": "number",
        "products": "number",
        "country": "category",
        "age": "number",
    }
    assert prepared.sample.columns == (
        "balance", "balance=missing", "products", "country=France", "country=Germany", "country=Spain", "age",
    )  # fmt: skip


def test_rows_keep_their_values_and_labels(root: Path) -> None:
    rows = customers()
    data = imported(write_rows(root / "a.csv", rows))
    number = {name: i for i, name in enumerate(data.spec.columns or ())}
    assert data.values[:, number["age"]].tolist() == [row["age"] for row in rows]
    assert data.values[:, number["country=Spain"]].tolist() == [row["country"] == "Spain" for row in rows]
    assert data.labels["exited"].tolist() == [row["exited"] for row in rows]
    assert data.attributes["gender"].classes == ("female", "male")
    assert data.labels["gender"].tolist() == [int(row["gender"] == "male") for row in rows]


def test_numbers_are_standardised_by_training_rows_alone(root: Path) -> None:
    rows = customers()
    data = imported(write_rows(root / "a.csv", rows))
    seen = data.values / np.array(data.spec.scale) + np.array(data.spec.offset)
    train = data.where("train")
    place = (data.spec.columns or ()).index("age")
    assert abs(seen[train, place].mean()) < 1e-5
    assert abs(seen[train, place].std() - 1) < 1e-5
    assert abs(seen[:, place].mean()) > 1e-4  # all rows have another mean


def test_a_missing_number_is_the_training_mean_and_marked(root: Path) -> None:
    rows = customers()
    data = imported(write_rows(root / "a.csv", rows))
    missing = np.array([row["balance"] == "" for row in rows])
    known = [i for i in data.where("train") if not missing[i]]
    mean = np.mean([float(str(rows[i]["balance"])) for i in known])
    assert data.values[missing, 0] == pytest.approx(mean, rel=1e-5)
    assert data.values[:, 1].tolist() == missing.tolist()


def test_equal_rows_and_rows_of_one_person_stay_together(root: Path) -> None:
    rows = customers(200)
    for i, row in enumerate(rows):
        row["person"] = f"p{i // 4}"
    rows += [{**row, "person": f"q{i}"} for i, row in enumerate(rows[:50])]  # copies under other names
    data = imported(write_rows(root / "a.csv", rows), ColumnUse("exited", ("gender",), person="person"))
    for i in range(50):
        family = [4 * (i // 4) + j for j in range(4)]
        assert len({data.split[j] for j in (*family, 200 + i)}) == 1
    assert 0.1 < (data.split == SPLITS.index("test")).mean() < 0.3


def test_members_are_training_rows_and_their_copies_are_no_non_members(root: Path) -> None:
    rows = customers(150)
    for i, row in enumerate(rows):
        row["used"] = "yes" if i < 90 else "no"
    rows += [{**rows[0], "used": "no"}]
    prepared = import_set(
        write_rows(root / "a.csv", rows), "mine", ColumnUse("exited", ("gender",), member="used")
    )
    assert prepared.division.dropped == {"not trained on, but grouped with rows that were": 1}
    data = load(DataSpec(name="mine", **WHOLE))
    assert data.where("train").tolist() == list(range(90))
    assert data.where("test").tolist() == list(range(90, 150))
    assert data.labels["used"].tolist() == [1] * 90 + [0] * 60


def test_numbers_that_are_hidden_are_cut_at_quartiles_of_training_rows(root: Path) -> None:
    rows = customers(400)
    data = imported(write_rows(root / "a.csv", rows), ColumnUse("exited", ("age",)))
    share = np.bincount(data.labels["age"][data.where("train")]) / len(data.where("train"))
    assert len(share) == 4
    assert share == pytest.approx([0.25] * 4, abs=0.04)
    ends = {float(each.split()[-1]) for each in data.attributes["age"].classes[:3]}
    ages = np.array([row["age"] for row in rows])[data.where("train")]
    assert ends == set(np.quantile(ages, [0.25, 0.5, 0.75], method="inverted_cdf"))


def test_rows_without_a_target_are_left_out_and_unknown_hidden_ones_stay(root: Path) -> None:
    rows = customers()
    rows[4]["exited"], rows[7]["gender"] = "NA", "?"
    prepared = import_set(write_rows(root / "a.csv", rows), "mine", USE)
    assert prepared.division.dropped == {"exited is missing": 1}
    data = load(DataSpec(name="mine", **WHOLE))
    assert len(data) == 119
    assert data.labels["gender"][6] == -1


def test_another_separator_a_gzip_parquet_and_npz_give_the_same_samples(root: Path) -> None:
    rows = customers()
    first = imported(write_rows(root / "a.csv", rows)).values
    text = (root / "a.csv").read_text()
    (root / "b.csv.gz").write_bytes(gzip.compress(text.replace(",", ";").encode()))
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(root / "a.csv")
    table.to_parquet(root / "c.parquet")
    columns = {name: table[name].to_numpy() for name in table}
    np.savez(root / "d.npz", **{k: v.astype(str) if v.dtype == object else v for k, v in columns.items()})
    for number, path in enumerate(("b.csv.gz", "c.parquet", "d.npz")):
        import_set(root / path, f"copy-{number}", USE)
        again = load(DataSpec(name=f"copy-{number}", **WHOLE))
        assert again.values == pytest.approx(first, rel=1e-6), path
        assert len(again.spec.columns or ()) == 7


@pytest.fixture
def saved(root: Path) -> Path:
    """A Hugging Face data set in several files, with a column that names its classes and one of lists."""
    hugging_face = pytest.importorskip("datasets")
    rows = customers(150)
    columns: dict[str, list[object]] = {name: [row[name] or None for row in rows] for name in rows[0]}
    columns["exited"] = [row["exited"] for row in rows]
    columns["words"] = [["a"]] * 150
    kept = hugging_face.Dataset.from_dict(columns)
    kept = kept.cast_column("exited", hugging_face.ClassLabel(names=["stayed", "left"]))
    kept.save_to_disk(root / "saved", num_shards=2)
    return root / "saved"


def test_a_saved_hugging_face_set_is_a_table_with_its_class_names(root: Path, saved: Path) -> None:
    first = imported(write_rows(root / "a.csv", customers(150)))
    prepared = import_set(saved, "saved", USE)
    data = load(DataSpec(name="saved", **WHOLE))
    assert data.values == pytest.approx(first.values, rel=1e-6)
    assert data.attributes["exited"].classes == ("left", "stayed")
    assert (data.labels["exited"] == 1 - first.labels["exited"]).all()
    assert "list" in next(plan.rule for plan in prepared.columns if plan.name == "words")


def test_a_broken_saved_set_is_refused(root: Path, saved: Path) -> None:
    (saved / "dataset_info.json").write_text("[]")
    with pytest.raises(InvalidInput, match="cannot be read"):
        import_set(saved, "mine", USE)
    (saved / "dataset_info.json").write_text("{}")
    data = sorted(saved.glob("*.arrow"))[1]
    data.write_bytes(data.read_bytes()[:-300])
    with pytest.raises(InvalidInput, match="cannot be read"):
        import_set(saved, "mine", USE)
    (saved / "state.json").write_text('{"_data_files": [{"filename": "../../a"}]}')
    with pytest.raises(InvalidInput, match="cannot be read"):
        import_set(saved, "mine", USE)
    assert "mine" not in datasets
    (saved / "state.json").rename(saved / "dataset_dict.json")
    with pytest.raises(InvalidInput, match="holds several parts"):
        import_set(saved, "mine", USE)


def test_a_few_texts_among_numbers_count_as_missing(root: Path) -> None:
    rows = customers(300)
    rows[11]["age"] = "unknown"
    prepared = import_set(write_rows(root / "a.csv", rows), "mine", USE)
    [age] = [plan for plan in prepared.columns if plan.name == "age"]
    assert age.missing == 1
    assert "'unknown'" in age.rule


def test_a_dry_run_keeps_nothing(root: Path) -> None:
    import_set(write_rows(root / "a.csv", customers()), "mine", USE, dry_run=True)
    assert "mine" not in datasets
    assert not list((root / "data" / "imported").iterdir())


LINES = "age,city,sex,bad\n" + "".join(f"{20 + i % 40},{i},{'fm'[i % 2]},{i % 3 // 2}\n" for i in range(60))
HOSTILE = {
    "nothing": (b"", "is empty"),
    "a heading alone": (b"age,sex,bad\n", "holds no rows"),
    "two rows": (b"age,sex,bad\n1,f,0\n2,m,1\n", "2 of 2 rows can be used; at least 20"),
    "a ragged row": (LINES.encode() + b"1,2\n", "row 61 has 2 values, the heading 4"),
    "one name twice": (b"age,sex,age,bad\n" + b"1,f,2,0\n" * 30, "several columns named 'age'"),
    "a column without a name": (b"age,,sex,bad\n" + b"1,f,2,0\n" * 30, "the name of column 2 is empty"),
    "a formula for a name": (b"=1+1,sex,bad\n" + b"1,f,0\n" * 30, "begins like a formula"),
    "Latin-1": (LINES.encode() + "9,Köln,f,0\n".encode("latin-1"), "is not UTF-8"),
    "no text at all": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, "is not UTF-8"),
    "an open quotation": (LINES.encode() + b'9,"c,f,0\n' + b"x\n" * 20_000, "goes over 10000 lines"),
    "an endless cell": (
        LINES.encode() + b'9,"' + b"c" * 140_000 + b'",f,0\n',
        "field larger than field limit",
    ),
    "a line without end": (b"age" * 4_000_000, "more than 8388608 characters"),
    "one class": (LINES.replace(",1\n", ",0\n").encode(), "'bad' has one value alone"),
    "a class that is a formula": (
        LINES.replace(",f,", ",=f(),").encode(),
        "'=f()', which is no name for a class",
    ),
    "one row again and again": (b"age,sex,bad\n" + b"1,f,0\n" * 300 + b"2,m,1\n", "rows equal each other"),
    "a column that says nothing": (
        b"age,sex,bad\n" + b"7,f,0\n7,m,1\n" * 30,
        "no column is left for a sample",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_get_a_sentence_and_leave_nothing(root: Path, case: str) -> None:
    content, sentence = HOSTILE[case]
    (root / "a.csv").write_bytes(content)
    with pytest.raises(InvalidInput) as refused:
        import_set(root / "a.csv", "mine", ColumnUse("bad", ("sex",)))
    assert sentence in refused.value.detail
    assert "mine" not in datasets
    assert not list((root / "data" / "imported").iterdir())


def test_a_bomb_is_refused_before_it_unpacks(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(root / "a.npz", x=np.zeros(2**21))
    monkeypatch.setattr(arrays, "MOST_BYTES", 2**23)
    with pytest.raises(InvalidInput, match=r"unpacks to 0.0 GiB; at most 0.0078125 are read"):
        import_set(root / "a.npz", "mine", USE)


@pytest.mark.parametrize("ending", ["parquet", "npz", "csv.gz", "docx"])
def test_what_is_no_such_file_is_refused(root: Path, ending: str) -> None:
    (root / f"a.{ending}").write_bytes(b"PAR1 and nothing more, age,exited,gender\n" * 9)
    with pytest.raises(InvalidInput):
        import_set(root / f"a.{ending}", "mine", USE)
    assert "mine" not in datasets


def test_unknown_columns_are_named_with_those_that_there_are(root: Path) -> None:
    path = write_rows(root / "a.csv", customers())
    with pytest.raises(InvalidInput, match="there is no column 'sex'") as refused:
        import_set(path, "mine", ColumnUse("exited", ("sex",)))
    assert "gender" in str(refused.value.hint)
    with pytest.raises(InvalidInput, match="is the target, and hidden as well"):
        import_set(path, "mine", ColumnUse("exited", ("exited",)))


cells = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", "NA", "1", "1.0", "-0", "1e999", "nan", "=1+1", "2024-01-01", "0x1", " 7 ", "1_0"]),
    st.floats().map(str),
    st.integers().map(str),
)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(cells, cells, st.sampled_from("ab"), st.sampled_from("01")), min_size=1, max_size=60)
)
def test_any_table_is_imported_whole_or_refused(tmp_path_factory: pytest.TempPathFactory, rows: list) -> None:  # type: ignore[type-arg]
    folder = tmp_path_factory.mktemp("any")
    path = write_rows(folder / "a.csv", [dict(zip("xyst", row, strict=True)) for row in rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEAKRANGE_DATA", str(folder / "data"))
        try:
            import_set(path, "mine", ColumnUse("t", ("s",)))
        except LeakrangeError:
            assert "mine" not in datasets
            return
        data = load(DataSpec(name="mine", **WHOLE))
        assert len(data) == len(rows)
        assert np.isfinite(data.values).all()
        assert data.labels["t"].tolist() == [int(row[3]) for row in rows]


@settings(max_examples=60)
@given(st.binary(max_size=400))
def test_any_bytes_are_refused_in_words(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEAKRANGE_DATA", str(folder / "data"))
        for ending in ("csv", "csv.gz", "npz", "parquet"):
            (folder / f"a.{ending}").write_bytes(content)
            with pytest.raises(LeakrangeError):
                import_set(folder / f"a.{ending}", "mine", USE)
