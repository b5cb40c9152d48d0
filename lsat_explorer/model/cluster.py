"""Schedulers of dask: one that is given by its address, and one begun on this machine."""

from __future__ import annotations

import atexit
import os
import sys
from copy import deepcopy
from typing import Any

__all__ = ["ClusterLost", "address_of", "connected", "page_of", "start", "stop"]

_ANSWER, _WORKER = 10, 60
"""Seconds that a scheduler has to answer, and the first worker to join it."""

_CLIENTS: dict[str | None, Any] = {}
"""Connections of this process by the address that was asked for; None is the cluster begun without one."""

_STARTED: dict[str, Any] = {}
"""Clusters that were begun here, by address."""

_ALLOCATION = {
    f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": size
    for name, size in (("TRIM", 2**27), ("MMAP", 2**25))
}
"""Of glibc in workers: with dask's setting each buffer is new memory of the system, and sums take twice as long."""


_STEALING = "distributed.scheduler.work-stealing"
"""Idle workers of dask take work from others, and the rows with it: here each has its part."""

_WATCH = {
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.profile.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}
"""How often a worker looks at itself, for dask's page: as often as dask would, one that waits takes 5 % of a core."""


class ClusterLost(ConnectionError):
    """A scheduler or its workers do not answer; the sentence says which, and what to do."""


def address_of(value: Any) -> str | None:
    """Return the address of a scheduler: itself, or that of a client or cluster of dask.

    Raises
    ------
    ValueError
        When it is none of these.
    """
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    dask = sys.modules.get("distributed")  # who has one of its objects has imported it
    if dask is not None and isinstance(value, dask.Client):
        return str(value.scheduler.address)
    if dask is not None and isinstance(value, dask.deploy.Cluster):
        return str(value.scheduler_address)
    raise ValueError(
        f"Dask: address is {value!r}, expected that of a scheduler; give one such as 'tcp://10.0.0.1:8786', or a "
        f"dask.distributed.Client."
    )


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ModuleNotFoundError("Dask(…) needs dask.distributed: pip install 'lsat_explorer[dask]'.") from None
    # Run before what distributed registers as it is imported: a connection whose scheduler goes first complains.
    atexit.unregister(_stop_all)
    atexit.register(_stop_all)
    return distributed


def start(workers: int) -> str:
    """Start a scheduler and so many workers of one thread each on this machine, and return its address.

    They end with this process.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ValueError(f"Dask.local: workers is {workers!r}, expected a whole number of at least 1.")
    distributed, here = _distributed(), "127.0.0.1"
    import dask.config

    with dask.config.set({**_ALLOCATION, **_WATCH, _STEALING: False}):
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host=here,
            dashboard_address=f"{here}:0",
            silence_logs="ERROR",
            config=deepcopy(dask.config.config),  # for a worker that takes the place of a lost one, too
        )
    address = str(cluster.scheduler_address)
    _STARTED[address] = cluster
    return address


def stop(address: str | None) -> None:
    """Close the connection to a scheduler, and end it with its workers where it was begun here."""
    client = _CLIENTS.pop(address, None)
    if client is None:
        return
    where = client.scheduler.address if client.scheduler is not None else address
    client.close(timeout=2)
    if where in _STARTED:
        _STARTED.pop(where).close()


def connected(address: str | None) -> Any:
    """Return a client of the scheduler at ``address``; with None, of one with a worker for each core, begun here.

    Raises
    ------
    ClusterLost
        When nothing answers there, or no worker joins.
    """
    client = _CLIENTS.get(address)
    if client is not None and client.status == "running":
        return client
    distributed = _distributed()
    where = start(os.cpu_count() or 1) if address is None else address
    try:
        client = distributed.Client(where, timeout=_ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterLost(
            f"No scheduler of dask answers at {where}: start one with `dask scheduler`, or set "
            f"Recipe(engine=Dask.local(workers=2))."
        ) from error
    try:
        client.wait_for_workers(1, timeout=_WORKER)
    except TimeoutError as error:
        client.close()
        sentence = f"No worker has joined the scheduler at {where}: start one with `dask worker {where}`."
        raise ClusterLost(sentence) from error
    _CLIENTS[address] = client
    return client


def page_of(address: str | None) -> str:
    """Return the link of a scheduler's page where this process has a connection to it, empty otherwise."""
    client = _CLIENTS.get(address)
    return "" if client is None or client.status != "running" else str(client.dashboard_link)


def _stop_all() -> None:
    for address in list(_CLIENTS):
        stop(address)
