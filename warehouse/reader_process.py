"""Reading and decoding in other processes, so that this one can commit meanwhile.

Threads would share one interpreter lock and one address space, whose page faults wait for each
other: they made the same work a third dearer. A process that reads gets batches of sources on its
stdin and answers on its stdout, in order; the columns it decodes lie in memory that both map.
"""

from __future__ import annotations

import mmap
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Protocol, TypeVar, cast

from ingest.sources import Source
from warehouse.dump_reader import DumpReader, ReadContent, ReadFiles
from warehouse.errors import ReaderError

_ALIGNMENT = 64
_SHARE_HERE = 2  # half a batch: there is less of it, and others that get ready wait less
_BEGIN = """
import sys
sys.path[:] = {path!r}
from warehouse.reader_process import serve
serve({files})
"""
_PACKAGES = str(Path(__file__).parents[1])
_SETTINGS = {
    # Memory that glibc gave back would have to be cleared, page by page, for the next batch.
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "OPENBLAS_NUM_THREADS": "1",  # numpy would start threads that we have no work for
}

_HINTS: dict[int, str] = {
    signal.SIGKILL: ", as the system does when memory runs out",
    signal.SIGBUS: ", as the system does when a file is cut while it is read, or the disk is full",
}

_T_co = TypeVar("_T_co", covariant=True)


class Pending(Protocol[_T_co]):
    """Work that was handed over."""

    def result(self) -> _T_co:
        """What came of it; to be asked for once."""

    def release(self) -> None:
        """Give back the memory of the result, of which nothing must be in use any more."""


class Reader(Protocol):
    """A `DumpReader` here or elsewhere."""

    def read(self, sources: Sequence[Source]) -> Pending[ReadFiles]:
        """See `DumpReader.read`."""

    def decode(self, wanted: Sequence[int]) -> Pending[ReadContent | None]:
        """See `DumpReader.decode`."""


class Readers:
    """Readers for the batches of one ingest."""

    def __init__(self, process_count: int, most_pending: int) -> None:
        """Start the processes.

        Args:
            process_count: Processes besides this one.
            most_pending: Batches of one reader that may be decoded and not released.
        """
        self._here = _Here()
        self._processes: list[ReaderProcess] = []
        with suppress(OSError):  # no more processes are allowed: fewer do as well
            for _ in range(process_count):
                self._processes.append(ReaderProcess(most_pending))
        self._turns = cycle(range(process_count or 1))

    def pick(self) -> Reader:
        """The reader for a batch: this process until others are ready."""
        ready = [process for process in self._processes if process.is_ready()]
        return ready[next(self._turns) % len(ready)] if ready else self._here

    def share(self) -> int:
        """Which part of a full batch the next one may be."""
        return 1 if any(process.is_ready() for process in self._processes) else _SHARE_HERE

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, *exception: object) -> None:
        self._here.close()
        for process in self._processes:
            process.close()


class _Here:
    """A reader in a thread of this process."""

    def __init__(self) -> None:
        self._reader = DumpReader()
        self._thread = ThreadPoolExecutor(1)

    def read(self, sources: Sequence[Source]) -> Pending[ReadFiles]:
        return _Later(self._thread.submit(self._reader.read, sources))

    def decode(self, wanted: Sequence[int]) -> Pending[ReadContent | None]:
        return _Later(self._thread.submit(self._reader.decode, wanted))

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)


class _Later:
    def __init__(self, future: Future[Any]) -> None:
        self.result = future.result

    def release(self) -> None:
        """Nothing to give back."""


class ReaderProcess:
    """A reader in a process of its own."""

    def __init__(self, most_pending: int) -> None:
        """Start it; it takes a while until it is ready.

        Raises:
            OSError: The system allows no more processes.
        """
        self._free = [_Memory(_create_file()) for _ in range(most_pending)]
        files = [memory.file for memory in self._free]
        try:
            self._process = _start(files)
        except OSError:
            for file in files:
                os.close(file)
            raise
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        self._memories = list(self._free)
        self._start = _Answer(self, "starting")
        self._pending = deque([self._start])

    def is_ready(self) -> bool:
        """Whether it has started."""
        if not self._start.is_here and select.select([self._answers], [], [], 0)[0]:
            self.receive()
        return self._start.is_here

    def read(self, sources: Sequence[Source]) -> Pending[ReadFiles]:
        """See `DumpReader.read`."""
        doing = f"reading {sources[0].name} ... {sources[-1].name}"
        return self._ask(("read", None, sources), _Answer(self, doing))

    def decode(self, wanted: Sequence[int]) -> Pending[ReadContent | None]:
        """See `DumpReader.decode`."""
        memory = self._free.pop()
        request = "decode", self._memories.index(memory), wanted
        return self._ask(request, _Answer(self, f"decoding {len(wanted)} dumps", memory))

    def receive(self) -> None:
        """Wait for its next answer, which is to the earliest request.

        Raises:
            ReaderError: It died, or something failed that should not.
        """
        answer = self._pending.popleft()
        try:
            answer.content = pickle.load(self._answers)  # noqa: S301 - our own process
        except (EOFError, pickle.UnpicklingError):
            raise ReaderError(answer.doing, _describe_end(self._process.wait())) from None
        if isinstance(answer.content, _Failure):
            raise ReaderError(answer.doing, answer.content.text)
        answer.is_here = True

    def give_back(self, memory: _Memory) -> None:
        """Use the memory for another batch."""
        self._free.append(memory)

    def close(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.communicate()
        for memory in self._memories:
            os.close(memory.file)

    def _ask(self, request: tuple[str, int | None, object], answer: _Answer) -> _Answer:
        self._pending.append(answer)
        with suppress(BrokenPipeError):  # it died: said when the answer is waited for
            pickle.dump(request, self._requests)
            self._requests.flush()
        return answer


class _Answer:
    """An answer to come, and the memory that it lies in, if it is large."""

    def __init__(self, process: ReaderProcess, doing: str, memory: _Memory | None = None) -> None:
        self.doing = doing
        self.is_here = False
        self.content: Any = None
        self._process, self._memory = process, memory

    def result(self) -> Any:
        while not self.is_here:
            self._process.receive()
        return self.content if self._memory is None else self._memory.load(*self.content)

    def release(self) -> None:
        if self._memory is not None:
            self._memory.release()
            self._process.give_back(self._memory)


class _Failure:
    """What failed in the other process, which should not."""

    def __init__(self, text: str) -> None:
        self.text = text


class _Memory:
    """Memory that two processes share: pickled objects, their buffers side by side in a file."""

    def __init__(self, file: int) -> None:
        self.file = file
        self._map: mmap.mmap | None = None
        self._views: list[memoryview] = []

    def store(self, content: object) -> tuple[bytes, list[tuple[int, int]]]:
        """Put an object's buffers into the file: what `load` needs to make the object of them."""
        buffers: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(content, protocol=5, buffer_callback=buffers.append)
        places, end = [], 0
        for buffer in buffers:
            places.append((end, buffer.raw().nbytes))
            end += -(-buffer.raw().nbytes // _ALIGNMENT) * _ALIGNMENT
        with memoryview(self._mapped(end, mmap.ACCESS_WRITE)) as target:
            for buffer, (start, size) in zip(buffers, places, strict=True):
                target[start : start + size] = buffer.raw()
        return pickled, places

    def load(self, pickled: bytes, places: list[tuple[int, int]]) -> Any:
        """The object that the other process stored; its buffers are those in the file."""
        end = places[-1][0] + places[-1][1] if places else 0
        whole = memoryview(self._mapped(end, mmap.ACCESS_READ))
        self._views = [whole[start : start + size] for start, size in places]
        whole.release()
        return pickle.loads(pickled, buffers=self._views)  # noqa: S301 - our own process

    def release(self) -> None:
        """Let the other process write again; BufferError if something is still in use here."""
        for view in self._views:
            view.release()
        self._views = []

    def _mapped(self, size: int, access: int) -> mmap.mmap:
        if self._map is None or len(self._map) < size:
            room = max(size, mmap.PAGESIZE)
            if access == mmap.ACCESS_WRITE:
                os.ftruncate(self.file, room)
            self._map = mmap.mmap(self.file, room, access=access)
        return self._map


def _start(files: Sequence[int]) -> subprocess.Popen[bytes]:
    # Not multiprocessing: it would import the main module of whoever calls us.
    return subprocess.Popen(  # noqa: S603 - this very Python
        [sys.executable, "-S", "-c", _BEGIN.format(path=[_PACKAGES, *sys.path], files=files)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=files,
        env={**_SETTINGS, **os.environ},
    )


def _create_file() -> int:
    """A file without a name, in memory where the system can."""
    if sys.platform == "linux":
        with suppress(OSError):  # forbidden in some containers
            return os.memfd_create("tracehouse")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _describe_end(code: int) -> str:
    if code >= 0:
        return f"its process ended with exit code {code}"
    return f"its process was ended by {signal.Signals(-code).name}{_HINTS.get(-code, '')}"


def serve(files: Sequence[int]) -> None:
    """Read and decode for the process that started this one, until it ends or closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that process decides what Ctrl-C means
    requests: SimpleQueue[Any] = SimpleQueue()
    answers: SimpleQueue[Any] = SimpleQueue()
    memories = [_Memory(file) for file in files]
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    reader = DumpReader()
    answers.put(None)  # ready
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    threading.Thread(target=_talk, args=(answers, output), daemon=True).start()
    while True:
        name, memory, argument = requests.get()
        try:
            result = getattr(reader, name)(argument)
            answers.put(result if memory is None else memories[memory].store(result))
        except Exception:  # a fault of ours: it is to be seen there
            answers.put(_Failure(traceback.format_exc()))


def _listen(requests: SimpleQueue[Any]) -> None:
    """Take requests at once: neither process shall wait for the other with full pipes."""
    with suppress(EOFError):
        while True:
            requests.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - from our own process
    os._exit(0)


def _talk(answers: SimpleQueue[Any], output: IO[bytes]) -> None:
    """Give answers when they are asked for, while the next request is worked on."""
    with suppress(BrokenPipeError):
        while True:
            pickle.dump(answers.get(), output)
            output.flush()
    os._exit(0)
