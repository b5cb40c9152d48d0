"""A page that is not there: what a kernel would send it is packed, signed and counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import comm
import IPython.display
from comm.base_comm import BaseComm
from jupyter_client.session import Session

__all__ = ["Page", "open_page"]


class Page:
    """Counts the ``messages`` and their ``size`` in bytes.

    A kernel hands each packed message to a thread that writes it to a socket; that write is all that is left out.
    """

    def __init__(self) -> None:
        self.messages = self.size = 0
        self._session = Session(key=b"a page")

    def take(self, kind: str, content: Any, metadata: Any = None, buffers: Any = None) -> None:
        """Pack and sign a message, and forget it."""
        message = self._session.msg(kind, content=content, metadata=metadata or {})
        parts = [*self._session.serialize(message), *(memoryview(buffer).cast("B") for buffer in buffers or ())]
        self.messages += 1
        self.size += sum(map(len, parts))


@contextmanager
def open_page() -> Iterator[Page]:
    """Let widgets that are made inside, and what is displayed, go to a `Page`."""
    page = Page()

    class Recorded(BaseComm):
        def publish_msg(
            self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
        ) -> None:
            page.take(msg_type, {"data": data or {}, "comm_id": self.comm_id, **keys}, metadata, buffers)

    def publish(data: Any, metadata: Any = None, **keys: Any) -> None:
        page.take("display_data", {"data": data, "metadata": metadata or {}, **keys})

    opened, published = comm.create_comm, IPython.display.publish_display_data
    comm.create_comm = Recorded
    IPython.display.publish_display_data = publish
    try:
        yield page
    finally:
        comm.create_comm, IPython.display.publish_display_data = opened, published
