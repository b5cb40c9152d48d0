"""A cluster that is asked: what it says of workers that are lost, of a scheduler that is gone, and of a run to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from ..model.cluster import ClusterLost, connected

__all__ = ["Workers", "unwarned"]

_LISTEN, _ALONE = 0.2, 60.0
"""Seconds between two looks at whether the run is to stop, and that a cluster without workers is waited for."""

_TRIES = 5
"""Times that a question is asked where workers that held rows are lost meanwhile."""

Check = Callable[[], None]


@contextmanager
def unwarned() -> Iterator[None]:
    """Send numbers by row without dask's warning of 10 MB, for which there is no cause."""
    import dask.config

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
        yield


class Workers:
    """The workers of the scheduler at ``address``, by its ``client``.

    Raises
    ------
    ClusterLost
        When the scheduler, or all workers, do not answer; so does every method.
    """

    def __init__(self, address: str | None) -> None:
        self.client = connected(address)
        self._where = self.client.scheduler.address

    def threads(self) -> dict[str, int]:
        """Return the number of threads of each worker."""
        found: dict[str, int] = self.reached(self.client.nthreads)
        return found

    def tried(self, ask: Callable[[], Any], check: Check) -> Any:
        """Return what ``ask`` gives, asked again where parts were lost with their workers."""
        for _ in range(_TRIES):
            check()
            try:
                return ask()
            except CancelledError as error:
                # Dask cancels what needs rows that it cannot make again, and everything when the scheduler is gone.
                if self.client.status != "running":
                    raise self._lost() from error
        raise ClusterLost(
            f"Workers of the scheduler at {self._where} were lost {_TRIES} times during one sum: their logs say why."
        )

    def gathered(self, futures: list[Any], check: Check) -> list[Any]:
        """Wait for futures and return what they hold."""
        self.wait(futures, check)
        return list(self.reached(self.client.gather, futures))

    def wait(self, futures: list[Any], check: Check) -> None:
        """Wait for futures, hearing whether the run is to stop."""
        import distributed

        alone: float | None = None
        while True:
            try:
                with self.client.as_current():
                    distributed.wait(futures, timeout=_LISTEN)
                break
            except TimeoutError:
                check()
                if self.client.status != "running":
                    raise self._lost() from None
                now = time.monotonic()
                alone = None if self.threads() else alone or now
                if alone is not None and now - alone > _ALONE:
                    raise ClusterLost(f"No worker of the scheduler at {self._where} is left: start others.") from None
        for future in futures:
            failure = future.exception() if future.status == "error" else None
            if isinstance(failure, distributed.KilledWorker):
                raise MemoryError(str(failure)) from failure
            if failure is not None:
                raise failure

    def reached(self, call: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
        """Return what a call of the client gives; a scheduler that is gone breaks it."""
        try:
            return call(*arguments, **how)
        except OSError as error:  # of which TimeoutError is one
            raise self._lost() from error

    def _lost(self) -> ClusterLost:
        return ClusterLost(
            f"The scheduler of dask at {self._where} is gone: the last accepted iterate is kept. Start another, or "
            f"set another engine, and go on with lsat.Run(recipe, data, run.omega)."
        )
