from collections.abc import Callable, Sequence

__version__: str

class EngineError(Exception):
    """args: (code, code name, message)."""

class Engine:
    @staticmethod
    def open(
        path: str,
        cache_bytes: int | None = None,
        relaxed_ms: int | None = None,
        read_only: bool = False,
        create: bool = True,
        compress: bool = True,
        ttl_sweep_secs: int | None = None,
    ) -> Engine: ...
    def command(
        self, db: str, body: bytes, sequences: Sequence[tuple[str, Sequence[bytes]]] | None = None
    ) -> bytes: ...
    def serve(
        self,
        bind: str = "127.0.0.1",
        port: int | None = 0,
        socket: str | None = None,
        replica_set: str | None = None,
        advertise: str | None = None,
    ) -> Listener: ...
    def interrupt(self) -> None: ...
    def backup(self, path: str, progress: Callable[[int, int], object] | None = None) -> None: ...
    def close(self) -> None: ...

class Listener:
    @property
    def port(self) -> int | None: ...
    @property
    def address(self) -> str | None: ...
    def stop(self) -> None: ...
