"""Zip archives that are sound, and those that must not be unpacked."""

import stat
import zipfile

import pytest

from inspect_core.datasets import archives
from inspect_core.datasets.dataset import ScanError


def pack(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def link():
    member = zipfile.ZipInfo("link.png")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return member


def test_unpacks_into_a_new_folder(tmp_path):
    path = pack(tmp_path / "a.zip", {"x/1.png": b"one", "./2.png": b"two", "x\\3.png": b"three", "empty/": b""})
    target = archives.extract(path, tmp_path / "new" / "deep")
    files = {file.relative_to(target).as_posix(): file.read_bytes() for file in target.rglob("*.png")}
    assert files == {"x/1.png": b"one", "2.png": b"two", "x/3.png": b"three"}
    with pytest.raises(ScanError, match="cannot be unpacked"):
        archives.extract(path, target)
    assert len(list(target.rglob("*.png"))) == 3, "a folder in use is left as it is"


def test_unpacks_again_when_the_archive_has_changed(tmp_path):
    first = archives.unpacked(pack(tmp_path / "a.zip", {"1.png": b"one"}))
    assert archives.unpacked(tmp_path / "a.zip") == first
    second = archives.unpacked(pack(tmp_path / "a.zip", {"1.png": b"another"}))
    assert [(folder / "1.png").read_bytes() for folder in (first, second)] == [b"one", b"another"]


OUTSIDE = ("../evil.png", "a/../../evil.png", "..\\evil.png", "/etc/evil.png", "C:/evil.png")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        *(({name: b"x"}, "points out of the archive") for name in OUTSIDE),
        ({link(): b"/etc/passwd"}, "a link or device"),
        ({"a.png": b"x", "A.PNG": b"y"}, "twice"),
        ({"a.png": b"x", "./a.png": b"y"}, "twice"),
        ({"a": b"x", "a/b": b"y"}, "cannot be unpacked"),
        ({"d/" * 51 + "a.png": b"x"}, "more than 50 levels deep"),
        ({"d/" * 1500 + "a.png": b"x"}, "more than 50 levels deep"),
        ({"n" * 300 + ".png": b"x"}, "cannot be unpacked"),
    ],
)
def test_dangerous_members_are_refused_and_nothing_stays(tmp_path, members, message):
    target = tmp_path / "out" / "in"
    with pytest.raises(ScanError, match=f"bad.zip.*{message}"):
        archives.extract(pack(tmp_path / "bad.zip", members), target)
    assert not target.exists()
    assert not list(tmp_path.rglob("evil*"))


def test_what_cannot_be_unpacked_or_is_too_large_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    sound = pack(path, {"1.png": b"first" * 50, "2.png": b"second" * 50}, zipfile.ZIP_STORED).read_bytes()
    secret = bytearray(sound)
    secret[secret.index(b"PK\x01\x02") + 8] |= 1
    lzma = pack(path, {"1.png": b"x"}, zipfile.ZIP_LZMA).read_bytes()
    bomb = pack(path, {"a.bmp": bytes(archives._RATIO_FROM + 1)}).read_bytes()
    monkeypatch.setattr(archives, "MAX_MEMBERS", 5)
    many = pack(path, {f"{number}.png": b"x" for number in range(6)}).read_bytes()
    for data, reason in (
        (sound[:-30], "is not a valid zip archive"),
        (sound.replace(b"secondsecond", b"secondSECOND"), "is not a valid zip archive"),
        (secret, "encrypted"),
        (lzma, "unusual compression method"),
        (bomb, "more than 200 times its size"),
        (many, "6 files, more than 5"),
    ):
        path.write_bytes(data)
        with pytest.raises(ScanError, match=f"a.zip .*{reason}"):
            archives.extract(path, tmp_path / "there")
        assert not (tmp_path / "there").exists()
    pack(path, {f"{number}.bmp": bytes(10**6) for number in range(5)})
    assert len(list(archives.extract(path, tmp_path / "there").iterdir())) == 5, "blank masks are no bomb"
    monkeypatch.setattr(archives, "MAX_TOTAL", 5 * 10**6 - 1)
    with pytest.raises(ScanError, match="5,000,000 bytes, more than 4,999,999"):
        archives.extract(path, tmp_path / "elsewhere")
