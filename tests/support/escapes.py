"""What a process that works for strangers must not be able to do, each as something to try.

`PROGRAM` is Python that defines `try_all(folder)`: the outcome of each attempt by name, "done" or
the name of its error. No attempt does harm where nothing stops it.
"""

from __future__ import annotations

# What each attempt of a confined process ends with; seccomp refuses before Landlock is asked.
FORBIDDEN = (
    "fork", "exec", "spawn", "trace", "read_memory", "socket", "socket_pair", "read_file",
    "write_file", "list_folder", "delete_file", "change_mode", "make_folder", "signal_parent",
    "signal_group", "limit_parent", "watch_parent", "new_namespace", "ring", "load_bpf", "keys",
    "another_filter",
)  # fmt: skip
ALLOWED = ("thread", "memory", "memory_file", "signal_self", "nap", "own_limit", "clock", "pipe")

PROGRAM = """
import ctypes, errno, mmap, os, resource, signal, socket, subprocess, threading, time

_LIBC = ctypes.CDLL(None, use_errno=True)
_IS_ARM = os.uname().machine == "aarch64"

def _call(name, *arguments):
    numbers = {"bpf": (321, 280), "pidfd_open": (434, 434), "io_uring_setup": (425, 425),
               "keyctl": (250, 219), "process_vm_readv": (310, 270), "unshare": (272, 97),
               "seccomp": (317, 277)}
    if _LIBC.syscall(numbers[name][_IS_ARM], *arguments) < 0:
        raise OSError(ctypes.get_errno(), name)

def _fork():
    if not os.fork():
        os._exit(0)
    os.wait()

def _trace():
    if _LIBC.ptrace(0, 0, 0, 0) < 0:  # asks its parent to trace it
        raise OSError(ctypes.get_errno(), "ptrace")

def _thread():
    ran = []
    started = threading.Thread(target=lambda: ran.append(1))
    started.start()
    started.join()
    assert ran

def _attempts(folder):
    parent = os.getppid()
    file = os.path.join(folder, "file")
    return {
        "fork": _fork,
        "exec": lambda: os.execv("/nonexistent", ["x"]),
        "spawn": lambda: os.posix_spawn("/nonexistent", ["x"], {}),
        "trace": _trace,
        "read_memory": lambda: _call("process_vm_readv", parent, None, 0, None, 0, 0),
        "socket": lambda: socket.socket().close(),
        "socket_pair": lambda: [one.close() for one in socket.socketpair()],
        "read_file": lambda: open(file).close(),
        "write_file": lambda: open(file, "a").close(),
        "list_folder": lambda: os.listdir(folder),
        "delete_file": lambda: os.unlink(file + ".old"),
        "change_mode": lambda: os.chmod(file, 0o600),
        "make_folder": lambda: os.mkdir(os.path.join(folder, "made")),
        "signal_parent": lambda: os.kill(parent, 0),
        "signal_group": lambda: os.kill(0, 0),
        "limit_parent": lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE),
        "watch_parent": lambda: _call("pidfd_open", parent, 0),
        "new_namespace": lambda: _call("unshare", 0),
        "ring": lambda: _call("io_uring_setup", 0, None),
        "load_bpf": lambda: _call("bpf", 0, None, 0),
        "keys": lambda: _call("keyctl", 0, -3, 0),
        "another_filter": lambda: _call("seccomp", 1, 0, None),
        "thread": _thread,
        "memory": lambda: mmap.mmap(-1, 1 << 20).close(),
        "memory_file": lambda: os.close(os.memfd_create("x")),
        "signal_self": lambda: os.kill(os.getpid(), 0),
        "nap": lambda: time.sleep(0.001),
        "own_limit": lambda: resource.getrlimit(resource.RLIMIT_CORE),
        "clock": lambda: time.time(),
        "pipe": lambda: [os.close(one) for one in os.pipe()],
    }

def _outcome(attempt):
    try:
        attempt()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def try_all(folder):
    return {name: _outcome(attempt) for name, attempt in _attempts(folder).items()}
"""
