"""Threads that run launches side by side."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest

from pbd_gym import Model, Scene, Solver
from pbd_gym.runtime.threads import default_threads, run_together


def test_all_calls_run_at_the_same_time() -> None:
    """Guards against running one after the other: the barrier opens only when all have come to it."""
    meeting = threading.Barrier(3, timeout=20)
    run_together([meeting.wait] * 3)


def test_errors_come_back_and_the_threads_live_on() -> None:
    """Guards a worker that dies, or stays busy, because a call raised."""

    def fail() -> None:
        raise LookupError("second")

    done: list[int] = []
    with pytest.raises(LookupError, match="second"):
        run_together([lambda: done.append(0), fail])
    run_together([lambda: done.append(1), lambda: done.append(2)])
    assert sorted(done) == [0, 1, 2]


def test_several_errors_at_once() -> None:
    """Guards workers that nobody waits for: after two errors in one go the next calls hung for ever."""

    def fail() -> None:
        raise LookupError("one of two")

    done: list[int] = []

    def go_on() -> None:
        with pytest.raises(LookupError, match="one of two"):
            run_together([partial(done.append, 0), fail, fail, partial(done.append, 1)])
        run_together([partial(done.append, k) for k in range(2, 6)])

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    thread.join(20)
    assert sorted(done) == list(range(6))


@pytest.mark.skipif(os.name != "posix", reason="signals are sent in another way there")
def test_an_interrupt_waits_for_what_is_under_way() -> None:
    """Guards Ctrl-C in a notebook: calls that write into arrays come to their end, and the next ones are run."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is ignored
    done: list[int] = []

    def interrupt() -> None:
        time.sleep(0.1)  # until the main thread waits
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        done.append(0)

    try:
        with pytest.raises(KeyboardInterrupt):
            run_together([lambda: None, interrupt, partial(done.append, 1)])
    finally:
        signal.signal(signal.SIGINT, before)
    assert sorted(done) == [0, 1]
    thread = threading.Thread(target=run_together, args=([partial(done.append, k) for k in (2, 3, 4)],), daemon=True)
    thread.start()
    thread.join(20)
    assert sorted(done) == list(range(5))


def test_callers_share_the_workers() -> None:
    """Guards two solvers that are stepped from two threads of the user's."""
    total = [0, 0]

    def count(k: int) -> None:
        for _ in range(200):
            parts: list[int] = []
            run_together([partial(parts.append, 1)] * 2)
            total[k] += len(parts)

    threads = [threading.Thread(target=count, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert total == [400, 400]


def positions_after_steps() -> np.ndarray:
    scene = Scene()
    scene.pin(scene.add_cloth(4, 4, lines=False).corners[:2])
    solver = Solver(Model(scene, num_envs=40, lanes=16), substeps=2, threads=2)
    state, control = solver.state(), solver.control()
    for _ in range(3):
        solver.step(state, control, 0.01)
    return state.get_positions()


def step_in_child(queue: multiprocessing.queues.Queue) -> None:  # type: ignore[type-arg]
    queue.put(positions_after_steps())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_steps_too() -> None:
    """Guards Gymnasium's AsyncVectorEnv: a child has none of its parent's threads, and must not wait for them."""
    wanted = positions_after_steps()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=step_in_child, args=(queue,))
    child.start()
    found = queue.get(timeout=60)
    child.join(60)
    np.testing.assert_array_equal(found, wanted)


def test_default_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PBD_GYM_THREADS", "3")
    assert default_threads() == 3
    monkeypatch.setenv("PBD_GYM_THREADS", "none")
    with pytest.raises(ValueError, match="PBD_GYM_THREADS"):
        default_threads()
    monkeypatch.delenv("PBD_GYM_THREADS")
    assert default_threads() >= 1
