"""A camera before the watch folder, played by films and by a capture that fails when told to."""

import os
import time

import cv2
import numpy as np
import pytest

from inspect_core.line import camera
from inspect_core.line.camera import Camera, Trigger, without_password

RATE = 10


def frame(level: int, bar: int = 0) -> np.ndarray:
    picture = np.full((48, 64, 3), level, np.uint8)
    picture[:, bar : bar + 16] = 255
    return picture


@pytest.fixture
def film(tmp_path):
    """film(frames) is the path of a film of them."""

    def make(frames) -> str:
        path = tmp_path / "film.avi"
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), RATE, (64, 48))
        for frame in frames:
            writer.write(frame)
        writer.release()
        return str(path)

    return make


def captured(source: str, folder, trigger: Trigger) -> list[np.ndarray]:
    folder.mkdir(exist_ok=True)
    camera = Camera(source, folder, trigger, lambda words: pytest.fail(words))
    camera.run()
    names = sorted(path.name for path in folder.iterdir())
    assert all(name.endswith(".png") and name[0] != "." for name in names), "whole files only"
    assert camera.written == len(names)
    return [cv2.imread(str(folder / name)) for name in names]


def test_every_second_of_a_film(film, tmp_path):
    photos = captured(film(frame(10 * i) for i in range(21)), tmp_path / "in", Trigger(every=1.0))
    assert [round(float(photo[:, 32:].mean()) / 10) for photo in photos] == [0, 10, 20]


def test_resting_part_is_taken_once_and_a_passing_one_never(film, tmp_path):
    rest, move = [frame(20, 8)] * 12, [frame(20, bar) for bar in range(0, 48, 6)]
    photos = captured(film([*rest, *move, *[frame(20, 40)] * 10, *move]), tmp_path / "in", Trigger(at_rest=True))
    assert len(photos) == 1
    assert photos[0][:, 44:52].mean() > 200


def test_on_request(film, tmp_path):
    trigger = Trigger()
    trigger.ask()
    assert len(captured(film([frame(9)] * 5), tmp_path / "in", trigger)) == 1


def test_no_camera_is_said_without_its_password(tmp_path):
    with pytest.raises(OSError, match="cannot be opened") as refused:
        Camera("x://ann:se/cr@et@none.avi", tmp_path, Trigger(), print)
    assert "camera x://… cannot" in str(refused.value)


class Flaky:
    """A capture that loses its camera once."""

    answers: list

    def __init__(self, source):
        self.source = source

    def isOpened(self):
        return True

    def get(self, name):
        return RATE

    def read(self):
        time.sleep(0.001)
        return self.answers.pop(0) if self.answers else (True, frame(5))


def test_lost_camera_and_full_disk_are_reported_and_retried(tmp_path, monkeypatch):
    monkeypatch.setattr(camera, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(camera.cv2, "VideoCapture", Flaky)
    Flaky.answers = [(True, frame(1)), (False, None), (True, frame(2))]
    messages, full = [], [OSError(28, "No space left on device")] * 2
    line_camera = Camera("rtsp://a:b@cam/1", tmp_path, Trigger(every=1e-9), messages.append)

    def sync(number):
        if full:
            raise full.pop()
        if line_camera.written == 2:
            line_camera.stop.set()

    monkeypatch.setattr(camera.os, "fsync", sync)
    line_camera.run()
    assert messages[0].endswith("(No space left on device); trying again")
    assert messages[1:] == ["camera rtsp://cam disconnected; reconnecting", "camera rtsp://cam reconnected"]
    assert len(list(tmp_path.glob("*.png"))) == 3
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("0", "0"),
        ("rtsp://ann:secret@10.0.0.7:554/stream", "rtsp://10.0.0.7:554"),
        ("http://cam.local/video?pwd=secret", "http://cam.local"),
        ("http://cam.local/video?user=a&password=s%20x", "http://cam.local"),
        ("rtsp://ann:se cr@et@cam/1", "rtsp://…"),
        ("rtsp://cam/x?pwd=a@secret", "rtsp://…"),
        ("rtsp://ann:se/cret@cam/1", "rtsp://…"),
        ("ann:secret@10.0.0.7/stream", "by the address given"),
        ("rtspsrc location=cam user-pw=secret ! decodebin", "by the address given"),
    ],
)
def test_of_a_source_only_scheme_and_host_are_shown(source, shown):
    assert without_password(source) == shown
    assert not any(word in without_password(source) for word in ("secret", "cret", "se cr"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes as on Unix")
def test_pipe_folder_and_unknown_number_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for source in (str(tmp_path / "pipe"), str(tmp_path), "9" * 20):
        with pytest.raises(OSError, match="cannot be opened"):
            Camera(source, tmp_path, Trigger(), print)


def test_what_a_killed_camera_left_is_removed_and_nothing_else(film, tmp_path):
    source, folder = film([frame(9)] * 2), tmp_path / "in"
    folder.mkdir()
    old, new, other = (folder / name for name in (
        ".20260101-101010-123456.png.part", ".20260101-101010-654321.png.part", ".mine.png.part"))  # fmt: skip
    for path in (old, new, other):
        path.write_bytes(b"half")
    for path in (old, other):
        os.utime(path, (1, 1))
    Camera(source, folder, Trigger(), print)
    assert sorted(path.name for path in folder.iterdir()) == sorted([new.name, other.name])


def test_once_takes_one_photo_of_a_camera(tmp_path, monkeypatch):
    class Live:
        def __init__(self, source):
            pass

        def isOpened(self):
            return True

        def read(self):
            return True, frame(7)

    monkeypatch.setattr(camera.cv2, "VideoCapture", Live)
    line_camera = Camera("0", tmp_path, Trigger(), print, once=True)
    line_camera.run()
    assert line_camera.written == 1
