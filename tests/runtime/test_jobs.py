import ctypes
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from inspect_core.runtime.jobs import ENDED_JOBS, MAX_QUEUED_JOBS, JobRejected, Jobs, JobState, device_lock
from inspect_core.runtime.progress import Cancelled


def ended(job, seconds: float = 5.0):
    limit = time.monotonic() + seconds
    while job.active:
        assert time.monotonic() < limit, "the job did not end"
        time.sleep(0.005)
    return job


def test_result_and_progress_of_a_job_that_ends_well():
    def work(job):
        job.report(0.5, "half way")
        return 42

    job = ended(Jobs().submit("Fit", work))
    assert (job.state, job.result, job.fraction, job.step) == (JobState.DONE, 42, 1.0, "half way")


def test_second_job_waits_and_a_removed_one_never_begins():
    jobs, release, begun = Jobs(), threading.Event(), []
    first = jobs.submit("Teach tile", lambda job: release.wait(5), owner="Ana")
    second, third = (jobs.submit(title, lambda job: begun.append(job.title)) for title in ("Teach board", "Compare"))
    assert (jobs.current, jobs.waiting) == (first, [second, third])
    jobs.cancel(second.id)
    assert (jobs.waiting, second.state) == ([third], JobState.CANCELLED)
    release.set()
    ended(third)
    assert begun == ["Compare"]
    assert (jobs.current, jobs.ended[0], jobs.waiting) == (third, third, [])


def test_the_last_jobs_that_ended_are_kept_latest_first():
    jobs = Jobs()
    titles = [f"Teach {number}" for number in range(ENDED_JOBS + 3)]
    for title in titles:
        ended(jobs.submit(title, lambda job: None))
    assert [job.title for job in jobs.ended] == titles[: -ENDED_JOBS - 1 : -1]


def test_queue_is_bounded_and_refuses_the_same_work_twice():
    jobs, release = Jobs(), threading.Event()
    first = jobs.submit("Teach tile", lambda job: release.wait(5), owner="Ana", subject=("teach", 1))
    with pytest.raises(JobRejected, match=r"Teach tile.*Ana.*is already running;"):
        jobs.submit("Teach tile", lambda job: None, subject=("teach", 1))
    others = [
        jobs.submit("Teach tile", lambda job: None, subject=("teach", 2 + number)) for number in range(MAX_QUEUED_JOBS)
    ]
    assert jobs.find_by_subject(("teach", 3)) is others[1]
    with pytest.raises(JobRejected, match="the queue is full"):
        jobs.submit("Teach board", lambda job: None)
    release.set()
    ended(others[-1])
    assert first.state is JobState.DONE
    assert jobs.find_by_subject(("teach", 1)) is None
    assert ended(jobs.submit("Teach tile", lambda job: "next", subject=("teach", 1))).result == "next"


def test_unqueued_job_blocks_nothing_until_it_is_cancelled():
    jobs = Jobs()

    def watch(job):
        while True:
            job.report(0.0, "watching")
            time.sleep(0.005)

    side_job = jobs.run_unqueued("Watching in", watch, owner="Ana", subject=("watch", "in"))
    with pytest.raises(JobRejected, match=r"Watching in.*Ana.*is already running;"):
        jobs.run_unqueued("Watching in", watch, owner="Ben", subject=("watch", "in"))
    assert ended(jobs.submit("Fit", lambda job: 42)).result == 42
    assert (jobs.unqueued_jobs, jobs.current.active, jobs.find_by_subject(("watch", "in"))) == (
        [side_job],
        False,
        side_job,
    )
    jobs.cancel(side_job.id)
    assert ended(side_job).state is JobState.CANCELLED
    assert jobs.unqueued_jobs == []


def test_job_is_cancelled_by_id_at_its_next_report():
    jobs, steps = Jobs(), []

    def work(job):
        for i in range(10_000):
            steps.append(i)
            job.report(i / 10_000)
            time.sleep(0.001)

    job = jobs.submit("Fit", work)
    while not steps:
        time.sleep(0.001)
    jobs.cancel("another")
    assert not job.cancelling
    jobs.cancel(job.id)
    assert job.cancelling
    assert (ended(job).state, job.result) == (JobState.CANCELLED, None)
    assert len(steps) < 10_000


def test_a_failure_keeps_its_sentence_and_frees_the_worker():
    jobs = Jobs()

    def work(job):
        raise ValueError("there is no good photo")

    job = ended(jobs.submit("Fit", work))
    assert (job.state, job.error) == (JobState.FAILED, "there is no good photo")
    assert ended(jobs.submit("Fit", lambda job: 1)).state is JobState.DONE


def test_time_left_follows_the_share_done_and_hardly_rises():
    job = ended(Jobs().submit("Fit", lambda job: None))
    job.state = JobState.RUNNING

    def at(seconds: float, share: float | None = None) -> float | None:
        job._ended = job._began + seconds
        if share is not None:
            job.report(share)
        return job.seconds_left

    assert at(10, 0.05) is None
    assert at(15, 0.08) is None
    assert at(20, 0.25) == pytest.approx(10 * 0.75 / 0.2), "the time in which work was prepared is no pace"
    assert at(30) == pytest.approx(27.5)
    assert at(60, 0.5) == pytest.approx(45), "a fifth above the least told, not 56"
    assert at(400) == pytest.approx(45 / 5), "it never runs out before the work does"
    job.report(0.0)
    assert job.seconds_left is None
    assert at(460, 0.5) == pytest.approx(60)
    assert at(500, 0.05) is None
    assert at(510, 0.06) == pytest.approx(10 * 0.94 / 0.01), "ten seconds of work that takes long are a pace"
    job.cancel()
    with pytest.raises(Cancelled):
        job.report(0.4)


def test_one_lock_for_each_device():
    assert device_lock("cpu") is device_lock("cpu")
    assert device_lock("cpu") is not device_lock("cuda:0")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="a C library other than glibc")
def test_memory_that_a_job_freed_goes_back_to_the_system():
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def work(job):
        blocks = [np.ones(8_000) for _ in range(4_000)]  # each below what malloc maps apart, 256 MB together
        last = np.ones(8_000)
        del blocks
        job.report(1.0)
        return last.size

    before, jobs = resident(), Jobs()
    job = ended(jobs.submit("Fit", work))
    limit = time.monotonic() + 5
    while resident() - before > 64 << 20 and time.monotonic() < limit:
        time.sleep(0.05)
    assert job.result == 8_000
    assert resident() - before < 64 << 20
