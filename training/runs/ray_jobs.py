"""Jobs on several machines by Ray (``--ray ADDRESS``): who does what is Ray's affair, what is done is the command's.

A job is a function of this package with plain arguments, which returns plain data. Machines have this package, and
folders are on a disk that all of them see: a job writes where it would write without Ray, so that a command given again
goes on from the files that are there.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pbd_gym.registry import imported
from pbd_gym.runtime.extras import load_optional

Job = tuple[Any, ...]
"""Arguments of a job."""


@contextlib.contextmanager
def cluster(address: str, folder: Path, ids: Sequence[str], cores: int = 1, **env_kwargs: Any) -> Iterator[Cluster]:
    """Connect to a cluster, and fill the caches of each machine once, so that no two jobs compile the same.

    Args:
        address: address of the cluster's head, such as ``"10.0.0.1:6379"``; ``"auto"`` for the one that this machine
            belongs to, ``"local"`` for a new one of this machine alone.
        folder: folder of the results.
        ids: environments whose kernels and start states are needed.
        cores: CPU cores of a job, which are also its threads.
        **env_kwargs: arguments of these environments.

    Raises:
        ImportError: without Ray.
        ConnectionError: without a cluster at the address.
        ValueError: if a machine does not see the folder.
    """
    ray = load_optional("ray", "for --ray", "ray")
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    try:
        found = Cluster(ray, cores)
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder.resolve() / f".seen-{uuid.uuid4().hex}"
        mark.touch()
        try:
            found.prepare(mark, list(ids), env_kwargs)
        finally:
            mark.unlink()
        yield found
    finally:
        ray.shutdown()


class Cluster:
    """Machines of a Ray cluster.

    Args:
        ray: the module.
        cores: CPU cores of a job.
    """

    def __init__(self, ray: Any, cores: int) -> None:
        self._ray, self._cores = ray, cores
        self._remote = ray.remote(num_cpus=cores, max_retries=2)(_run)

    @property
    def machines(self) -> list[str]:
        """Identities of the machines that have CPU cores for jobs."""
        nodes = self._ray.nodes()
        return [n["NodeID"] for n in nodes if n["Alive"] and n["Resources"].get("CPU", 0.0) >= self._cores]

    def prepare(self, mark: Path, ids: list[str], env_kwargs: dict[str, Any]) -> None:
        """Check that each machine sees a file, and fill its caches.

        Raises:
            ValueError: if one does not, or if none has enough cores.
        """
        machines = self.machines
        if not machines:
            raise ValueError(f"no machine of the cluster has {self._cores} cores for a job")
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        asked = [
            self._remote.options(scheduling_strategy=affinity(machine, soft=False)).remote(
                list(imported), self._cores, _prepare, (str(mark), ids, env_kwargs)
            )
            for machine in machines
        ]
        seen = self._ray.get(asked)
        if not all(seen):
            raise ValueError(
                f"{seen.count(False)} of {len(seen)} machines do not see {mark.parent}: --ray needs a folder on a disk "
                "that all machines share"
            )
        print(f"{len(machines)} machines, caches are warm", flush=True)

    def run(self, function: Callable[..., Any], jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        """Run jobs, as many at a time as there are cores, and yield their numbers and results as they end.

        A job whose machine is lost is repeated elsewhere. Jobs that have not begun are dropped if the caller stops.

        Raises:
            Exception: what a job raises.
        """
        waiting = {
            self._remote.remote(list(imported), self._cores, function, job): number for number, job in enumerate(jobs)
        }
        try:
            while waiting:
                ended, _ = self._ray.wait(list(waiting), num_returns=1)
                yield waiting.pop(ended[0]), self._ray.get(ended[0])
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause or error) from None
        finally:
            for one in waiting:
                self._ray.cancel(one)


def _run(modules: list[str], cores: int, function: Callable[..., Any], job: Job) -> Any:
    """Run a job on its machine, where ids of other packages have to be known too."""
    os.environ |= {"OMP_NUM_THREADS": "1", "PBD_GYM_THREADS": str(cores)}
    for module in modules:
        importlib.import_module(module)
    return function(*job)


def _prepare(mark: str, ids: list[str], env_kwargs: dict[str, Any]) -> bool:
    """Return whether a file is seen on this machine, after filling its caches."""
    if not Path(mark).exists():
        return False
    import gymnasium as gym

    import pbd_gym  # noqa: F401  (registers the ids)

    for env_id in ids:
        env = gym.make_vec(env_id, 1, **env_kwargs)
        env.reset(seed=0)
        env.close()
    return True
