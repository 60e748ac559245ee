"""A PostgreSQL server for the tests: started in a temporary folder, on loopback, from the installed programs."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ABSENT = (
    "PostgreSQL is not installed: `apt install postgresql` (or put initdb and pg_ctl on the PATH), "
    "and `pip install 'remanence-memory[postgres]'`"
)
PASSWORD = "not secret"
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "autovacuum": "off",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "''",
}
_DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "autovacuum": "on"}


class Server:
    """A server with its own data, which can be stopped and started again."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    def url(self, schema: str = "remanence", port: int | None = None) -> str:
        password = PASSWORD.replace(" ", "%20")
        return f"postgresql://remanence:{password}@127.0.0.1:{port or self.port}/postgres?schema={schema}"

    @classmethod
    def create(cls) -> Server:
        programs()
        folder = Path(tempfile.mkdtemp(prefix="remanence-postgres-"))
        shutil.chown(folder, **_owner())
        password = folder / "password"
        password.write_text(PASSWORD)
        shutil.chown(password, **_owner())
        login = ["--username=remanence", "--auth=scram-sha-256", f"--pwfile={password}"]
        _run("initdb", f"--pgdata={folder / 'data'}", *login, "--encoding=UTF8", "--no-locale", "--no-sync")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return cls(folder, free.getsockname()[1])

    def start(self, *, durable: bool = False) -> None:
        """Start; a `durable` one writes to the disk when it commits, as servers do, for measurements."""
        chosen = {**_SETTINGS, **(_DURABLE if durable else {}), "port": self.port}
        settings = " ".join(f"-c {name}={value}" for name, value in chosen.items())
        _run("pg_ctl", "start", "-w", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-o", settings)

    def stop(self) -> None:
        """At once, as if it had crashed."""
        _run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self.folder / "data"))

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)


@contextmanager
def shared_server(folder: Path) -> Iterator[Server]:
    """One server for all processes of a test session that share this folder; the last one stops it."""
    import fcntl  # here, as conftest.py imports this module on Windows too

    with (folder / "postgres.json").open("a+") as file, (folder / "postgres.users").open("a") as users:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if known := file.read():
            kept = json.loads(known)
            server = Server(Path(kept["folder"]), kept["port"])
        else:
            server = Server.create()
            server.start()
            file.write(json.dumps({"folder": str(server.folder), "port": server.port}))
            file.flush()
        fcntl.flock(users, fcntl.LOCK_SH)
        fcntl.flock(file, fcntl.LOCK_UN)
        try:
            yield server
        finally:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass  # another process still uses it
            else:
                file.truncate(0)
                server.remove()


def programs() -> Path:
    """The folder with initdb and pg_ctl; skips the test if there is none."""
    pytest.importorskip("psycopg", reason=ABSENT)
    found = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found is None and not installed:
        pytest.skip(ABSENT)
    return Path(found or installed[-1]).resolve().parent


def _owner() -> dict[str, Any]:
    """Who the server runs as: not root, which PostgreSQL refuses."""
    import pwd

    if os.geteuid() != 0:
        return {"user": os.geteuid(), "group": os.getegid()}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid}
    pytest.skip("PostgreSQL refuses to run as root, and there is no user 'postgres' or 'nobody'")


def _run(program: str, *args: str) -> None:
    other = {**_owner(), "extra_groups": []} if os.geteuid() == 0 else {}
    # Into files, not pipes: the server keeps them open, and a reader would wait for it.
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run([programs() / program, *args], stdout=said, stderr=said, cwd="/", check=False, **other)
        said.seek(0)
        assert done.returncode == 0, said.read()
