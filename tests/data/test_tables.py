"""Real tables: what a sample holds, from a packed file or the published ones, and broken files."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from pathlib import Path

import numpy as np
import pytest

from leakrange.data import datasets, load, load_labels
from leakrange.data.sets.adult import ADULT_COLUMNS
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable, InvalidInput
from tests.data.labels import same_but_the_images

TRAIN, TEST = 0, 3
Row = dict[str, str]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    for name in ("adult", "bank_churn", "hmda"):
        (tmp_path / name).mkdir()
    return tmp_path


def write(path: Path, rows: list[Row], names: list[str] | None = None, *, between: str = ",") -> None:
    """A CSV file of these columns; without ``names`` of all, headless."""
    lines = [between.join(row[name] for name in names or row) for row in rows]
    text = "\n".join(([between.join(names)] if names else []) + lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def people(n: int = 60) -> list[Row]:
    draw = random.Random(0)
    return [
        {
            "age": str(draw.randint(17, 90)), "workclass": draw.choice(["Private", "State-gov", "?"]),
            "fnlwgt": str(10_000 + i), "education": "HS-grad", "education_num": str(draw.randint(1, 16)),
            "marital_status": draw.choice(["Divorced", "Never-married", "Widowed"]),
            "occupation": draw.choice(["Sales", "?"]), "relationship": draw.choice(["Husband", "Wife"]),
            "race": draw.choice(["White", "Black", "Other"]), "sex": draw.choice(["Male", "Female"]),
            "capital_gain": str(draw.choice([0, 2174])), "capital_loss": "0",
            "hours_per_week": str(draw.randint(1, 99)), "native_country": draw.choice(["Cuba", "Hong"]),
            "income": draw.choice([">50K", "<=50K"]),
        }
        for i in range(n)
    ]  # fmt: skip


def pack_adult(root: Path, rows: list[Row], tested: int = 20) -> Path:
    path = root / "adult" / "adult.csv.gz"
    split = ["train"] * (len(rows) - tested) + ["test"] * tested
    split_rows = [row | {"split": part} for row, part in zip(rows, split, strict=True)]
    write(path, split_rows, [*ADULT_COLUMNS, "split"])
    return path


def test_adult_is_the_same_packed_and_as_published(root: Path) -> None:
    rows = people()
    packed = pack_adult(root, rows)
    first = load(DataSpec(name="adult"))
    packed.unlink()
    write(root / "adult" / "adult.data", rows[:40], between=", ")
    published = [row | {"income": row["income"] + "."} for row in rows[40:]]
    test_file = root / "adult" / "adult.test"
    write(test_file, published, between=", ")
    test_file.write_text("|1x3 Cross validator\n" + test_file.read_text() + "\n")
    second = load(DataSpec(name="adult", limit=1000))  # another specification of all of it: read again
    assert second.fingerprint == first.fingerprint
    assert first.split[40:].tolist() == [TEST] * 20
    assert TEST not in first.split[:40]
    assert [v == ">50K" for v in (row["income"] for row in rows)] == (first.labels["income"] == 1).tolist()
    for name, classes in {"gender": "sex", "race": "race", "marital-status": "marital_status"}.items():
        names = [first.attributes[name].classes[label] for label in first.labels[name]]
        assert [n.casefold() for n in names] == [row[classes].casefold() for row in rows]
    bounds = [np.searchsorted([29, 38, 49], int(row["age"]), side="right") for row in rows]
    assert first.labels["age-group"].tolist() == bounds


def test_a_sample_of_adult_holds_what_it_says_and_nothing_hidden(root: Path) -> None:
    rows = people()
    pack_adult(root, rows)
    found = load(DataSpec(name="adult"))
    columns = found.spec.columns
    assert columns is not None
    assert found.spec.encoding == "table"
    for hidden in ("sex", "race", "age", "marital_status", "relationship", "fnlwgt", "income"):
        assert not [name for name in columns if name.split("=")[0] == hidden], hidden
    for sample, row in zip(found.values, rows, strict=True):
        told = dict(zip(columns, sample.tolist(), strict=True))
        assert told["hours_per_week"] == float(row["hours_per_week"])
        for name in ("workclass", "occupation", "native_country"):
            marked = [key for key, value in told.items() if key.startswith(f"{name}=") and value]
            assert marked == [f"{name}={row[name]}"]
    full = load(DataSpec(name="adult-full"))
    assert full.spec.columns is not None
    male = full.values[:, full.spec.columns.index("sex=Male")]
    assert (male == full.labels["gender"]).all()
    assert {"age", "race=White", "relationship=Wife", "marital_status=Widowed"} < set(full.spec.columns)


def test_a_row_that_is_there_twice_stays_on_one_side(root: Path) -> None:
    rows = people()
    pack_adult(root, [*rows[:39], rows[50], *rows[40:]])
    found = load(DataSpec(name="adult"))
    assert found.group[39] == found.group[50]
    assert found.split[39] == TEST
    assert found.notes[-1].endswith(": 1")
    assert len(np.unique(found.group)) == 59


def customers(n: int = 50) -> list[Row]:
    draw = random.Random(1)
    numbers = ("CreditScore", "Age", "Tenure", "Balance", "NumOfProducts", "EstimatedSalary")
    return [
        {name: str(draw.randint(1, 900)) for name in numbers}
        | {name: draw.choice("01") for name in ("HasCrCard", "IsActiveMember", "Exited")}
        | {
            "Gender": draw.choice(["Male", "Female"]),
            "Geography": draw.choice(["France", "Spain", "Germany"]),
        }
        for _ in range(n)
    ]


def test_bank_churn_is_the_same_packed_and_as_published(root: Path) -> None:
    rows = customers()
    packed = root / "bank_churn" / "bank_churn.csv.gz"
    write(packed, rows, list(rows[0]))
    first = load(DataSpec(name="bank_churn"))
    packed.unlink()
    more = [row | {"RowNumber": str(i), "CustomerId": "1", "Surname": "Hill"} for i, row in enumerate(rows)]
    write(root / "bank_churn" / "Churn_Modelling.csv", more, list(more[0]))
    assert load(DataSpec(name="bank_churn", limit=1000)).fingerprint == first.fingerprint
    assert first.values[:, 0].tolist() == [float(row["CreditScore"]) for row in rows]
    assert [first.attributes["geography"].classes[i] for i in first.labels["geography"]] == [
        row["Geography"] for row in rows
    ]
    assert not {"Gender", "Geography"} & set(first.spec.columns or ())


RACES = ("white", "black", "asian", "amind", "hipac")
YES = (
    "term_360", "conforming", "debt_to_income_ratio_missing", "no_intro_rate_period", "high_priced",
)  # fmt: skip
STANDARDISED = (
    "loan_amount", "loan_to_value_ratio", "intro_rate_period", "property_value", "income",
    "debt_to_income_ratio",
)  # fmt: skip


def loans(n: int = 60) -> list[Row]:
    """As they are packed."""
    draw = random.Random(2)
    rows = []
    for _ in range(n):
        race = draw.choice([*RACES, ""])
        row = {name: str(int(name == race)) if race else "" for name in RACES}
        for one, other in (("hispanic", "non_hispanic"), ("male", "female"), ("agegte62", "agelt62")):
            row |= dict(zip((one, other), draw.choice([("0", "1"), ("1", "0"), ("", "")]), strict=True))
        row |= {name: draw.choice("01") for name in YES}
        rows.append(row | {f"{name}_std": f"{draw.gauss(0, 1):.4f}" for name in STANDARDISED})
    rows[0]["income_std"] = "-0.0000"
    return rows


def as_published(row: Row, number: int) -> Row:
    """With more decimals, floating-point marks and a standardised one."""
    more = dict(row, row_id=str(number))
    for name in STANDARDISED:
        more[f"{name}_std"] = f"{float(row[f'{name}_std']) + 3e-6:.7f}"
    for name in ("white", "male", "female"):
        more[name] = f"{row[name]}.0" if row[name] else ""
    more["no_intro_rate_period_std"] = {"1": "0.2444", "0": "-4.0915"}[more.pop("no_intro_rate_period")]
    return more


def test_hmda_is_the_same_packed_and_as_published(root: Path) -> None:
    rows = loans()
    packed = root / "hmda" / "hmda.csv.gz"
    write(packed, rows, list(rows[0]))
    first = load(DataSpec(name="hmda"))
    packed.unlink()
    published = [as_published(row, number) for number, row in enumerate(rows)]
    write(root / "hmda" / "hmda_train_preprocessed.csv", published, list(published[0]))
    assert load(DataSpec(name="hmda", limit=1000)).fingerprint == first.fingerprint


def test_hmda_borrowers_of_whom_nothing_is_known_have_no_label(root: Path) -> None:
    rows = loans()
    write(root / "hmda" / "hmda.csv.gz", rows, list(rows[0]))
    found = load(DataSpec(name="hmda"))
    expected = [next((i for i, name in enumerate(RACES) if row[name] == "1"), -1) for row in rows]
    assert found.labels["race"].tolist() == expected
    assert found.labels["race-2"].tolist() == [min(i, 1) for i in expected]
    assert [{"1": 1, "0": 0, "": -1}[row["male"]] for row in rows] == found.labels["gender"].tolist()
    assert [{"1": 1, "0": 0, "": -1}[row["agegte62"]] for row in rows] == found.labels["age-group"].tolist()
    assert {-1, 0, 1} == set(found.labels["ethnicity"].tolist())
    same_but_the_images(load_labels(DataSpec(name="hmda")), found)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"age": "old"}, "'age' holds what is no number"),
        ({"hours_per_week": "inf"}, "'hours_per_week' holds numbers that are not finite"),
        ({"sex": "?"}, "'sex' holds '\\?', which is none of"),
        ({"income": "50K"}, "'income' holds '50K'"),
        ({"native_country": "Atlantis"}, "'native_country' holds 'Atlantis'"),
        ({"race": "White,Black"}, "row 5 has 17 values, not 16"),
    ],
    ids=str,
)
def test_a_table_with_other_values_is_refused(root: Path, change: Row, says: str) -> None:
    rows = people()
    rows[4] |= change
    pack_adult(root, rows)
    with pytest.raises(DataUnavailable, match=says):
        load(DataSpec(name="adult"))


def test_a_broken_table_is_told(root: Path) -> None:
    path = pack_adult(root, people())
    whole = path.read_bytes()
    for broken in (
        whole[: len(whole) // 2],
        b"not zipped",
        gzip.compress(b"\xff\xfe\xff"),
        gzip.compress(b""),
    ):
        path.write_bytes(broken)
        with pytest.raises(DataUnavailable, match=r"adult\.csv\.gz") as told:
            load(DataSpec(name="adult"))
        assert told.value.hint
    write(path, people(), list(ADULT_COLUMNS))
    with pytest.raises(DataUnavailable, match="lacks the columns: split"):
        load(DataSpec(name="adult"))


def test_a_set_that_is_not_there_says_what_to_put_where(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = "adult/adult.csv.gz or adult/adult.data and adult/adult.test"
    assert wanted in (datasets["adult"].available() or "")
    (root / "adult" / "adult.data").write_text("")
    assert wanted in (datasets["adult"].available() or "")
    monkeypatch.delenv("LEAKRANGE_DATA")
    assert "set LEAKRANGE_DATA" in (datasets["adult"].available() or "")
    with pytest.raises(DataUnavailable, match="LEAKRANGE_DATA"):
        load(DataSpec(name="adult"))


def test_a_table_has_no_size(root: Path) -> None:
    pack_adult(root, people())
    with pytest.raises(InvalidInput, match="a table has no size"):
        load(DataSpec(name="adult", size=32))


def as_openml(rows: list[Row], first: str) -> tuple[list[dict[str, str]], str]:
    """Its description of the columns, and the table as ARFF: names with hyphens, the class last."""
    names = [first, *(name.replace("_", "-") for name in ADULT_COLUMNS[1:-1]), "class"]
    about, head = [], []
    for place, (name, own) in enumerate(zip(names, ADULT_COLUMNS, strict=True)):
        numeric = rows[0][own].isdigit()
        values = sorted({row[own] for row in rows} - {"?"})
        about.append(
            {
                "index": str(place), "name": name, "data_type": "numeric" if numeric else "nominal",
                "is_target": str(name == "class").lower(), "is_ignore": "false",
                "is_row_identifier": "false", "number_of_missing_values": "0",
            }
        )  # fmt: skip
        head.append(f"@ATTRIBUTE {name} {'REAL' if numeric else '{' + ','.join(values) + '}'}")
    data = [",".join(row[name] for name in ADULT_COLUMNS) for row in rows]
    return about, "\n".join(["@RELATION adult", *head, "@DATA", *data]) + "\n"


def download(cache: Path, rows: list[Row], first: str = "age") -> None:
    """What scikit-learn keeps of a download of such an ``adult``, whose first column has this name."""
    about, arff = as_openml(rows, first)
    told = {
        "id": "1590", "name": "adult", "version": "2", "description": "census",
        "status": "active", "format": "ARFF", "file_id": "7",
        "md5_checksum": hashlib.md5(arff.encode()).hexdigest(),
        "url": "https://www.openml.org/data/v1/download/7/adult.arff",
    }  # fmt: skip
    api = "api/v1/json/data"
    kept = {
        f"{api}/list/data_name/adult/limit/2/data_version/2": {"data": {"dataset": [{"did": 1590}]}},
        f"{api}/1590": {"data_set_description": told},
        f"{api}/features/1590": {"data_features": {"feature": about}},
        f"{api}/qualities/1590": {"data_qualities": {"quality": []}},
    }
    texts = {name: json.dumps(content) for name, content in kept.items()}
    for name, text in {**texts, "data/v1/download/7/adult.arff": arff}.items():
        path = cache / "openml" / "openml.org" / f"{name}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))


def test_openmls_copy_gives_the_same_samples(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKRANGE_CACHE", str(root))
    rows = people()
    pack_adult(root, rows)
    download(root, rows)
    found, packed = load(DataSpec(name="hub-adult")), load(DataSpec(name="adult"))
    assert found.spec == packed.spec
    np.testing.assert_array_equal(found.values, packed.values)
    for name, values in packed.labels.items():
        np.testing.assert_array_equal(found.labels[name], values)


def test_openmls_table_with_other_columns(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKRANGE_CACHE", str(root))
    download(root, people(), first="years")
    with pytest.raises(DataUnavailable, match="lacks the columns: age"):
        load(DataSpec(name="hub-adult"))


def test_without_a_network_openmls_copy_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKRANGE_CACHE", str(tmp_path))
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens on the port of 'discard'
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(DataUnavailable, match=r"cannot be downloaded from OpenML: .*refused") as told:
        load(DataSpec(name="hub-adult"))
    assert str(tmp_path) in (told.value.hint or "")


def test_diabetes_is_scikit_learns_without_sex_and_age() -> None:
    from sklearn.datasets import load_diabetes

    reference = load_diabetes(scaled=False)
    found = load(DataSpec(name="diabetes"))
    assert found.values.shape == (442, 8)
    assert found.spec.columns == ("bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
    np.testing.assert_allclose(found.values, reference.data[:, 2:], rtol=1e-6)
    assert (found.labels["sex"] + 1 == reference.data[:, 1]).all()
    assert np.bincount(found.labels["progression"]).tolist() == [221, 221]
    scaled = found.values / np.array(found.spec.scale) + np.array(found.spec.offset)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-4)
