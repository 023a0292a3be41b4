"""What the worker asks of the library that owns tensors, streams, graphs and events."""

import importlib.util
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

Call = Callable[[], Any]


@dataclass(frozen=True)
class BufferSpec:
    """A problem buffer or workspace, its expressions evaluated. Shape and strides in elements, outermost first."""

    name: str
    role: str  # in, out, inout, workspace
    dtype: str  # f16, bf16, f32, …
    shape: Sequence[int]
    strides: Sequence[int]
    bytes: int
    rule: Optional[Mapping[str, Any]] = None  # how a dense input is drawn; absent: its contents come from the parent
    init: Optional[str] = None  # workspaces: undefined, zero (by a step of the plan) or once
    contents: bytes = b"\0"  # workspaces with init once: what is repeated over them before the first run

    @property
    def is_input(self) -> bool:
        return self.role in ("in", "inout")

    @property
    def is_output(self) -> bool:
        return self.role in ("out", "inout")

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> "BufferSpec":
        keys = ("name", "role", "dtype", "shape", "strides", "bytes")
        given = {key: value[key] for key in keys}
        contents = bytes.fromhex(value.get("contents") or "00")
        return BufferSpec(**given, rule=value.get("rule"), init=value.get("init"), contents=contents)

    def starting_bytes(self) -> bytearray:
        pattern = self.contents
        return bytearray((pattern * -(-self.bytes // len(pattern)))[: self.bytes])


@dataclass(frozen=True)
class Ring:
    """Slots, each a mapping from buffer name to tensor; a column is one buffer of all slots, to be sliced by slot and filled at once."""

    slots: List[Dict[str, Any]]
    columns: Dict[str, Any]


class Backend:
    """One implementation runs PyTorch on one GPU (torch_backend.py); tests bring one of their own.

    `Call`s compute on the tensors they were made for.
    """

    framework: Any  # what `Baseline.make` gets as its first argument

    def describe(self) -> Dict[str, Any]:
        """Versions and the GPU."""
        raise NotImplementedError

    def scope(self) -> Any:
        """Context manager around everything below: no gradients, our stream."""
        raise NotImplementedError

    def allocate(self, buffers: Sequence[BufferSpec], slot_count: int, seed: int) -> Ring:
        """Fresh memory full of NaN bits, at places that depend on the seed."""
        raise NotImplementedError

    def draw(self, tensor: Any, rule: Mapping[str, Any], seed: int) -> None:
        """Fills a tensor or a column by the rule."""
        raise NotImplementedError

    def write(self, tensor: Any, buffer: BufferSpec, contents: bytearray) -> None:
        """Sets every byte of the buffer, gaps between elements included."""
        raise NotImplementedError

    def write_again(self, tensor: Any, source: Any, buffer: BufferSpec) -> None:
        """Sets every byte of the buffer to those of another tensor for it."""
        raise NotImplementedError

    def read(self, tensor: Any, buffer: BufferSpec) -> bytes:
        """Every byte of the buffer."""
        raise NotImplementedError

    def reread(self, columns: Sequence[Any], seed: int) -> None:
        """Reads all columns once, in pieces in an order that depends on the seed."""
        raise NotImplementedError

    def poison(self, tensor: Any) -> None:
        """NaN bits in every element."""
        raise NotImplementedError

    def mismatch(self, value: Any, buffer: BufferSpec) -> Optional[str]:
        """How a returned value differs from the declared output, in words."""
        raise NotImplementedError

    def copy(self, target: Any, value: Any) -> None:
        raise NotImplementedError

    def capture(self, calls: Sequence[Call]) -> Any:
        """One graph of these calls in order, each warmed up; `.results` holds what they returned."""
        raise NotImplementedError

    def time_ns(self, graph: Any) -> float:
        """Device time between events around one replay."""
        raise NotImplementedError

    def overhead_ns(self) -> float:
        """The same around a graph of nothing."""
        raise NotImplementedError

    def eager_ns(self, call: Call) -> float:
        """Device time between events around one call outside a graph."""
        raise NotImplementedError

    def kernel_names(self, call: Call) -> List[str]:
        """Names of the kernels one call runs, the longest first, as a profiler sees them."""
        raise NotImplementedError

    def kernel_calls(self, code: bytes, plan: Mapping[str, Any], slots: Sequence[Mapping[str, Any]]) -> List[Call]:
        """Calls that launch a plan's steps from a compiled module, one for each slot."""
        raise NotImplementedError

    def synchronize(self) -> None:
        raise NotImplementedError

    def release(self) -> None:
        """Gives cached memory back to the device."""

    def classify(self, error: BaseException) -> Optional[str]:
        """A kind of errors.KINDS for the library's own exceptions."""
        return None


def load_backend(file: Optional[str]) -> Backend:
    """PyTorch's, not yet started; or `create()` of a Python file."""
    if file is None:
        from .torch_backend import TorchBackend

        return TorchBackend()
    spec = importlib.util.spec_from_file_location("warpsmith_backend", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.create()
