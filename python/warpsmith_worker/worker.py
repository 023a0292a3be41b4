"""Answers requests one after the other: each command is a method in `COMMANDS`."""

import gc
import sys
import traceback
import warnings
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .backend import Backend, BufferSpec
from .baseline import Baseline, BaselineFile, Unsupported, unsupported_reason
from .block import Block, Subject
from .errors import WorkerError, describe_exception
from .protocol import Channel, Header, Payload

Answer = Tuple[Header, Sequence[Any]]


class Worker:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._file: Optional[BaselineFile] = None
        self._subjects: Dict[int, Subject] = {}
        self._blocks: Dict[int, Block] = {}
        self._next_handle = 1

    def serve(self, channel: Channel) -> None:
        # A collection in the middle of enqueueing would show in a time; cycles are collected when a block closes.
        gc.disable()
        while True:
            header, payloads = channel.receive()
            answer, data = self.answer(header, payloads)
            channel.send({"id": header.get("id"), **answer}, data)
            del payloads, data
            if header.get("command") not in KEEPS_MEMORY or not answer["ok"]:
                self._clear()

    def answer(self, header: Header, payloads: List[Payload]) -> Answer:
        """What to send back; every failure is an answer."""
        try:
            command = COMMANDS.get(header.get("command", ""))
            if command is None:
                raise WorkerError("bad-request", f"unknown command {header.get('command')!r}")
            result, data = command(self, header, payloads)
            return {"ok": True, **result}, data
        except WorkerError as error:
            return {"ok": False, "kind": error.kind, "message": str(error)}, ()
        except Unsupported as error:
            return {"ok": False, "kind": "unsupported", "message": str(error)}, ()
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            kind = self._backend.classify(error) or "worker-error"
            return {"ok": False, "kind": kind, "message": describe_exception(error)}, ()

    # Commands

    def hello(self, header: Header, payloads: List[Payload]) -> Answer:
        versions = self._backend.describe()
        # What the imports left lives for ever: collections need not look at it.
        gc.collect()
        gc.freeze()
        return {"versions": versions}, ()

    def load(self, header: Header, payloads: List[Payload]) -> Answer:
        self._file = BaselineFile(header["file"])
        return {}, ()

    def list(self, header: Header, payloads: List[Payload]) -> Answer:
        file = self._loaded()
        found = file.baselines(header["dimensions"])
        return {
            "baselines": [
                {
                    "name": name,
                    "title": baseline.title,
                    "unsupported": unsupported_reason(baseline, header["dimensions"], file.path),
                }
                for name, baseline in found.items()
            ]
        }, ()

    def prepare(self, header: Header, payloads: List[Payload]) -> Answer:
        """Makes the baseline for these buffers and calls it once; `unsupported` when it can't be had."""
        file, dimensions = self._loaded(), header["dimensions"]
        baseline = file.baseline(header["baseline"], dimensions)
        reason = unsupported_reason(baseline, dimensions, file.path)
        if reason is not None:
            raise WorkerError("unsupported", reason)
        subject = LibrarySubject(self._backend, file, baseline, header)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                subject.try_once()
            except Unsupported as error:
                raise WorkerError("unsupported", _with_warnings(str(error), caught)) from error
        return self._keep(self._subjects, subject), ()

    def prepare_kernel(self, header: Header, payloads: List[Payload]) -> Answer:
        subject = KernelSubject(self._backend, bytes(payloads[0]), header)
        subject.try_once()
        return self._keep(self._subjects, subject), ()

    def check(self, header: Header, payloads: List[Payload]) -> Answer:
        """Computes the outputs of these inputs, over NaN."""
        subject = self._of(self._subjects, header, "subject")
        outputs = subject.run_on(self._shared(dict(zip(header["inputs"], payloads))))
        return {"outputs": list(outputs)}, list(outputs.values())

    def open_block(self, header: Header, payloads: List[Payload]) -> Answer:
        subject = self._of(self._subjects, header, "subject")
        contents = dict(zip(header.get("inputs", []), payloads))
        block = Block(subject, header["slotCount"], header["sequencesPerReplay"], header["seed"], contents)
        return self._keep(self._blocks, block), ()

    def sample(self, header: Header, payloads: List[Payload]) -> Answer:
        block = self._of(self._blocks, header, "block")
        return {"ns": block.sample(header["seed"], header.get("plantedSlot"), header.get("rereadsInputs", False))}, ()

    def read_slot(self, header: Header, payloads: List[Payload]) -> Answer:
        outputs = self._of(self._blocks, header, "block").read_slot(header["slot"])
        return {"outputs": list(outputs)}, list(outputs.values())

    def close_block(self, header: Header, payloads: List[Payload]) -> Answer:
        self._of(self._blocks, header, "block").close()
        del self._blocks[header["block"]]
        return {}, ()

    def overhead(self, header: Header, payloads: List[Payload]) -> Answer:
        with self._backend.scope():
            return {"ns": self._backend.overhead_ns()}, ()

    def eager(self, header: Header, payloads: List[Payload]) -> Answer:
        """Device time of each of some calls alone, outside graphs."""
        subject = self._of(self._subjects, header, "subject")
        return {"ns": subject.eager_ns(header["calls"])}, ()

    def kernel_names(self, header: Header, payloads: List[Payload]) -> Answer:
        return {"names": self._of(self._subjects, header, "subject").kernel_names()}, ()

    # Helpers

    def _shared(self, inputs: Dict[str, Payload]) -> Mapping[str, Payload]:
        """The same inputs as another subject keeps already, where there are any: they may be hundreds of megabytes."""
        kept = [subject.known_inputs for subject in self._subjects.values()]
        return next((known for known in kept if known == inputs), inputs)

    def _clear(self) -> None:
        """Gives what is in no use any more back to the device, which others use as well."""
        gc.collect()
        try:
            self._backend.release()
        except Exception as error:  # After a CUDA error nothing can be freed; the parent ends this process.
            print(f"memory can't be released: {describe_exception(error)}", file=sys.stderr)

    def _loaded(self) -> BaselineFile:
        if self._file is None:
            raise WorkerError("bad-request", "no baseline.py has been loaded")
        return self._file

    def _keep(self, table: Dict[int, Any], item: Any) -> Header:
        handle, self._next_handle = self._next_handle, self._next_handle + 1
        table[handle] = item
        return {"handle": handle}

    def _of(self, table: Dict[int, Any], header: Header, key: str) -> Any:
        item = table.get(header.get(key, -1))
        if item is None:
            raise WorkerError("bad-request", f"no such {key}: {header.get(key)!r}")
        return item


class LibrarySubject(Subject):
    """A baseline for one workload."""

    def __init__(self, backend: Backend, file: BaselineFile, baseline: Baseline, header: Header) -> None:
        super().__init__(backend, [BufferSpec.of_json(buffer) for buffer in header["buffers"]])
        self._file, self._baseline = file, baseline
        self._scalars, self._dimensions = header["scalars"], header["dimensions"]

    def make_calls(self, slots: Sequence[Any]) -> List[Any]:
        return [self._make_call(slot) for slot in slots]

    def _make_call(self, slot: Any) -> Any:
        call = self._attempt(
            "make", lambda: self._baseline.make(self.backend.framework, slot, self._scalars, self._dimensions)
        )
        if not callable(call):
            raise WorkerError("baseline-error", f"make in {self._file.path} must return a callable, not {call!r}")
        return lambda: self._attempt("the call", call)

    def _attempt(self, what: str, action: Any) -> Any:
        try:
            return action()
        except (Unsupported, WorkerError):
            raise
        except Exception as error:
            kind = self.backend.classify(error) or "baseline-error"
            message = f"{what} failed: {describe_exception(error, self._file.path)}"
            raise WorkerError(kind, message) from error


class KernelSubject(Subject):
    """A compiled kernel, launched from this process: shows that both processes' clocks agree."""

    def __init__(self, backend: Backend, code: bytes, header: Header) -> None:
        super().__init__(backend, [BufferSpec.of_json(buffer) for buffer in header["buffers"]])
        self._code, self._plan = code, header["plan"]

    def make_calls(self, slots: Sequence[Any]) -> List[Any]:
        return self.backend.kernel_calls(self._code, self._plan, slots)


def _with_warnings(reason: str, caught: Sequence[warnings.WarningMessage]) -> str:
    """A reason and what the library warned of meanwhile, which is where PyTorch says why."""
    texts = dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)
    return ": ".join([reason, "; ".join(texts)[:MOST_WARNING_CHARACTERS]] if texts else [reason])


MOST_WARNING_CHARACTERS = 600

# Between these nothing is freed: a block is open, or nothing was allocated.
KEEPS_MEMORY = ("hello", "load", "list", "overhead", "openBlock", "sample", "readSlot")

COMMANDS = {
    "hello": Worker.hello,
    "load": Worker.load,
    "list": Worker.list,
    "prepare": Worker.prepare,
    "prepareKernel": Worker.prepare_kernel,
    "check": Worker.check,
    "openBlock": Worker.open_block,
    "sample": Worker.sample,
    "readSlot": Worker.read_slot,
    "closeBlock": Worker.close_block,
    "overhead": Worker.overhead,
    "eager": Worker.eager,
    "kernelNames": Worker.kernel_names,
}
