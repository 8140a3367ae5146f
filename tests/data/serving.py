"""A web server on this machine, for tests of downloads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def running(server: HTTPServer) -> Iterator[None]:
    """Let `server` answer as long as the block runs."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    with server:
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve the files of `folder`, and say at which address."""
    server = HTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    with running(server):
        yield f"http://127.0.0.1:{server.server_port}"
