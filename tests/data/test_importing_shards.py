"""WebDataset tars become a data set of pictures; hostile and broken ones are refused with a sentence."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from leakrange.data import datasets, load
from leakrange.data.importing import ColumnUse, import_set, shards
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable, InvalidInput, LeakrangeError

WHOLE = {"validation": 0.0, "auxiliary": 0.0}
USE = ColumnUse("animal", ("age",))
SHOWN = np.random.default_rng(4).integers(0, 256, (48, 24, 24, 3), dtype=np.uint8)


def picture(number: int, form: str = "PNG") -> bytes:
    file = io.BytesIO()
    Image.fromarray(SHOWN[number]).save(file, form, lossless=True)
    return file.getvalue()


def sample(number: int, form: str = "png") -> dict[str, bytes]:
    facts = {"age": ["old", "young"][number % 2], "weight": number / 4, "tags": ["a"]}
    key = f"part/{number:04d}"
    files = {f"{key}.{form}": picture(number, form), f"{key}.cls": str(number % 3).encode()}
    return files | {f"{key}.json": json.dumps(facts).encode(), f"{key}.txt": b"a caption"}


def write_tar(path: Path, files: dict[str, bytes], *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w") as tar:
        folder = tarfile.TarInfo("part")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in members:
            tar.addfile(member)
    return path


def samples(numbers: range, form: str = "png") -> dict[str, bytes]:
    return {name: content for each in numbers for name, content in sample(each, form).items()}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "data"))
    return tmp_path


def test_a_tar_is_pictures_with_classes_and_facts(root: Path) -> None:
    prepared = import_set(write_tar(root / "a.tar", samples(range(48))), "shown", USE, size=24)
    data = load(DataSpec(name="shown", **WHOLE))
    assert prepared.kind == "WebDataset"
    assert (data.values == SHOWN).all()
    assert data.attributes["animal"].classes == ("0", "1", "2")
    assert data.labels["animal"].tolist() == (np.arange(48) % 3).tolist()
    assert data.attributes["age"].classes == ("old", "young")
    assert data.labels["age"].tolist() == (np.arange(48) % 2).tolist()


def test_a_column_of_the_targets_name_is_the_target(root: Path) -> None:
    use = ColumnUse("age", ("cls",), person="weight")
    import_set(write_tar(root / "a.tar", samples(range(48))), "shown", use, size=24)
    data = load(DataSpec(name="shown", **WHOLE))
    assert data.labels["age"].tolist() == (np.arange(48) % 2).tolist()
    assert data.labels["cls"].tolist() == (np.arange(48) % 3).tolist()


@pytest.mark.parametrize("source", ["shards-{008..010}.tar", "."])
def test_shards_by_a_span_and_by_their_folder_are_one_set(root: Path, source: str) -> None:
    folder = root / "shards"
    folder.mkdir()
    for number, form in ((8, "png"), (9, "webp"), (10, "png")):
        begin = (number - 8) * 16
        write_tar(folder / f"shards-{number:03d}.tar", samples(range(begin, begin + 16), form))
    import_set(folder / source, "shown", USE, size=24)
    assert (load(DataSpec(name="shown", **WHOLE)).values == SHOWN).all()


@pytest.mark.slow
def test_the_tar_shards_are_read_as_another_reader_of_the_format_does(root: Path) -> None:
    hugging_face = pytest.importorskip("datasets")
    path = write_tar(root / "a.tar", samples(range(48)))
    import_set(path, "shown", ColumnUse("cls"), size=24)
    data = load(DataSpec(name="shown", **WHOLE))
    files = {"train": [str(path)]}
    rows = hugging_face.load_dataset(
        "webdataset", data_files=files, split="train", streaming=True, cache_dir=str(root / "cache")
    )
    for number, row in enumerate(rows):
        assert (np.asarray(row["png"].convert("RGB")) == data.values[number]).all()
        assert str(row["cls"]) == data.attributes["cls"].classes[data.labels["cls"][number]]
    assert number == 47


def special(name: str, kind: bytes, size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.size, member.linkname = kind, size, "/etc/passwd"
    return member


GOOD = samples(range(40))
HOSTILE = {
    "a symbolic link": ({}, special("x.png", tarfile.SYMTYPE), "is a link, a device or a sparse file"),
    "a hard link": ({}, special("x.png", tarfile.LNKTYPE), "is a link, a device or a sparse file"),
    "a pipe": ({}, special("x.png", tarfile.FIFOTYPE), "is a link, a device or a sparse file"),
    "an absolute path": ({"/etc/x.png": picture(0)}, None, "a path that leads out of it"),
    "a path that leads up": ({"a/../../x.png": picture(0)}, None, "a path that leads out of it"),
    "a gigabyte": ({}, special("x.png", tarfile.REGTYPE, 2**30), "has 1,024 MiB; at most 64 are read"),
    "more than there is": ({}, special("x.png", tarfile.REGTYPE, 2**20), "is no tar that can be read"),
    "an endless heading": ({}, special("x", tarfile.XHDTYPE, 2**33), "is no tar that can be read"),
    "no picture": ({"x.cls": b"1"}, None, "sample 'x' has no pictures"),
    "two pictures": ({"x.png": picture(0), "x.jpg": picture(0)}, None, "sample 'x' has 2 pictures"),
    "one name twice": ({}, special("part/0039.txt", tarfile.REGTYPE), "holds 'part/0039.txt' twice"),
    "torn samples": (
        {"x.png": picture(0), "y.png": picture(1), "x.cls": b"1"},
        None,
        "the files of sample 'x' do not follow each other",
    ),
    "facts that are none": ({"x.png": picture(0), "x.json": b"[1]"}, None, "its json is no mapping"),
    "broken facts": ({"x.png": picture(0), "x.json": b"[" * 90_000}, None, "its json cannot be read"),
    "a class of bytes": ({"x.png": picture(0), "x.cls": b"\xff\xfe"}, None, "no UTF-8"),
    "a class of megabytes": ({"x.png": picture(0), "x.cls": b"1" * 2**21}, None, "more than 1048576 bytes"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_tars_get_a_sentence_and_leave_nothing(root: Path, case: str) -> None:
    files, member, sentence = HOSTILE[case]
    path = write_tar(root / "a.tar", {**GOOD, **files}, *([member] if member else []))
    with pytest.raises(InvalidInput) as refused:
        import_set(path, "shown", USE)
    assert sentence in refused.value.detail
    assert refused.value.hint
    assert "shown" not in datasets
    assert not list((root / "data" / "imported").iterdir())


def test_no_heading_of_a_member_is_read_that_is_larger_than_a_picture_may_be(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(root / "a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in GOOD.items():
            member = tarfile.TarInfo(name)
            member.size, member.pax_headers = (
                len(content),
                {"comment": "a" * 8000} if "0030.png" in name else {},
            )
            tar.addfile(member, io.BytesIO(content))
    monkeypatch.setattr(shards, "LARGEST", 4096)
    with pytest.raises(InvalidInput, match="8192 bytes are to be read at once"):
        import_set(root / "a.tar", "shown", USE)


def test_a_broken_picture_is_named(root: Path) -> None:
    files = {**GOOD, "part/0007.png": picture(7)[:300]}
    with pytest.raises(DataUnavailable, match="sample 'part/0007' is not a JPEG, PNG or WEBP"):
        import_set(write_tar(root / "a.tar", files), "shown", USE)
    assert "shown" not in datasets


@pytest.mark.parametrize("kept", [0.3, 0.5, 0.77])
def test_a_truncated_tar_is_refused_wherever_it_ends(root: Path, kept: float) -> None:
    path = write_tar(root / "a.tar", GOOD)
    for end in (int(path.stat().st_size * kept), int(path.stat().st_size * kept) // 512 * 512):
        (root / "b.tar").write_bytes(path.read_bytes()[:end])
        with pytest.raises(InvalidInput, match="is no tar that can be read"):
            import_set(root / "b.tar", "shown", USE)


def test_a_tar_cut_between_two_members_or_overwritten_there_is_refused(root: Path) -> None:
    path = write_tar(root / "a.tar", GOOD)
    with tarfile.open(path) as tar:
        end = tar.getmembers()[120].offset
    content = path.read_bytes()
    for broken in (content[:end], content[:end] + b"x" * 512 + content[end + 512 :]):
        path.write_bytes(broken)
        with pytest.raises(InvalidInput, match="without the mark of its end, or is broken"):
            import_set(path, "shown", USE)


def test_pictures_that_do_not_fit_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leakrange.data.importing.pictures.MOST_BYTES", 30 * 24 * 24 * 3)
    with pytest.raises(InvalidInput, match="at 24 x 24 pixels the pictures take more than"):
        import_set(write_tar(root / "a.tar", GOOD), "shown", USE, size=24)


def test_what_a_span_names_must_be_there_and_no_tar_is_compressed(root: Path) -> None:
    write_tar(root / "s-01.tar", GOOD)
    with pytest.raises(InvalidInput, match=r"2 of 3 tars are not there: s-02.tar, s-03.tar"):
        import_set(root / "s-{01..03}.tar", "shown", USE)
    with pytest.raises(InvalidInput, match="is no span of numbers"):
        import_set(root / "s-{3..1}.tar", "shown", USE)
    (root / "s.tar.gz").write_bytes(b"")
    with pytest.raises(InvalidInput, match=r"s.tar.gz is compressed"):
        import_set(root / "s.tar.gz", "shown", USE)
    with pytest.raises(InvalidInput, match="there is no column 'height'"):
        import_set(root / "s-01.tar", "shown", ColumnUse("animal", ("height",)))


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=64), st.integers(0, 30_000), st.integers(1, 60))
def test_any_damage_is_refused_or_read_in_bounds(
    tmp_path_factory: pytest.TempPathFactory, damage: bytes, place: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    path = write_tar(folder / "a.tar", samples(range(24)))
    content = bytearray(path.read_bytes())
    content[place : place + len(damage)] = damage
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEAKRANGE_DATA", str(folder / "data"))
        try:
            import_set(path, "shown", USE, size=16)
        except LeakrangeError:
            assert "shown" not in datasets
        else:
            assert len(load(DataSpec(name="shown", size=16, **WHOLE))) == 24


@given(st.text(max_size=12))
def test_a_members_name_is_a_samples_and_an_ending_or_nothing(name: str) -> None:
    named = shards._named(Path("a.tar"), tarfile.TarInfo(f"a/{name.replace('..', '')}"))
    if named is not None:
        assert ".".join(named) == f"a/{name.replace('..', '')}"
        assert "/" not in named[1]
        assert "." not in Path(named[0]).name
