"""Kernels of Jupyter that are forked from one process, which has imported what most notebooks import.

A new kernel takes two seconds until a space is open. A forked one is a kernel as any other: it has its own memory,
environment and folder, and is asked over its own sockets.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

from doc_sessions import WRITTEN_AT

_PROGRAM = """
import gc, json, os, sys
import time_machine
import ipykernel.kernelapp, ipykernel.zmqshell, onnxruntime, tokenizers
import remanence.space.opening, remanence.space.space, remanence.index.engine.engine, remanence.models.extractors
import remanence.models.embedders, remanence.index.vectors.stores.exact, remanence.testing.fakes

gc.freeze()  # the pages of what is imported stay shared
print("ready", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        for number in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        os.environ.clear()
        os.environ.update(asked["env"])
        os.chdir(asked["cwd"])
        sys.modules.update(dict.fromkeys(asked["absent"]))  # to import one of these is an error
        time_machine.travel(asked["time"]).start()
        ipykernel.kernelapp.launch_new_instance(argv=asked["arguments"])
        sys.exit()
    print(child, flush=True)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


class KernelServer:
    """The process that kernels are forked from, one after the other."""

    def __init__(self, environment: dict[str, str]) -> None:
        command = [sys.executable, "-c", _PROGRAM]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._process = subprocess.Popen(command, env=environment, text=True, bufsize=1, **pipes)
        assert self._line() == "ready"

    def fork(
        self, arguments: list[str], folder: Path, environment: dict[str, str], absent: Collection[str]
    ) -> ForkedKernel:
        """A kernel in which these packages cannot be imported, as if they were not installed."""
        assert self._process.stdin is not None
        asked = {"arguments": arguments, "cwd": str(folder), "env": environment, "absent": sorted(absent)}
        asked["time"] = WRITTEN_AT.timestamp()
        self._process.stdin.write(json.dumps(asked) + "\n")
        return ForkedKernel(self, int(self._line()))

    def exit_code(self, seconds: float | None) -> int | None:
        """How the kernel ended; None if it still runs after that time."""
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return int(self._line()) if ready else None

    def close(self) -> str:
        """What was written on standard error, as by a package that warns when it is imported."""
        _, errors = self._process.communicate()
        return errors

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, (
            f"the process that forks kernels has ended:\n{self._process.stderr and self._process.stderr.read()}"
        )
        return line


class ForkedKernel:
    """A kernel as `subprocess.Popen` has a process, as far as a provisioner asks for it."""

    stdin = stdout = stderr = None

    def __init__(self, server: KernelServer, pid: int) -> None:
        self.pid, self._server, self._exit_code = pid, server, None

    def poll(self) -> int | None:
        if self._exit_code is None:
            self._exit_code = self._server.exit_code(0)
        return self._exit_code

    def wait(self) -> int | None:
        if self._exit_code is None:
            self._exit_code = self._server.exit_code(None)
        return self._exit_code

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


class _Provisioner(LocalProvisioner):
    """Asks the server for a kernel in place of starting a process."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> Any:
        arguments = cmd[cmd.index("-f") :]  # after `python -m ipykernel_launcher`
        self.process = self.parent.server.fork(arguments, options["cwd"], options["env"], self.parent.absent)
        self.pid, self.cwd = self.process.pid, options["cwd"]
        return self.connection_info


def forked_manager(server: KernelServer, absent: Collection[str]) -> type[AsyncKernelManager]:
    """A class of kernel managers for `NotebookClient`; the packages `absent` cannot be imported."""

    class Manager(AsyncKernelManager):
        async def _async_pre_start_kernel(self, **options: Any) -> Any:
            self.server, self.absent = server, absent
            self.provisioner = _Provisioner(kernel_id="forked", kernel_spec=self.kernel_spec, parent=self)
            return await super()._async_pre_start_kernel(**options)

    return Manager
