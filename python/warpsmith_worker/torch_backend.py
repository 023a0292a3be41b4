"""PyTorch on the first visible GPU."""

import contextlib
import ctypes
import importlib
import platform
import random
import statistics
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .backend import Backend, BufferSpec, Call, Ring
from .cuda_driver import CudaDriver, Hold
from .errors import WorkerError

# Names of torch's dtypes.
DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "u16": "uint16",
    "i32": "int32",
    "u32": "uint32",
    "i64": "int64",
    "u64": "uint64",
}
OVERHEAD_REPLAYS = 51
MORE_EMPTY_KERNELS = 32
# Where slots start: what cudaMalloc gives is aligned as much.
SLOT_ALIGNMENT_BYTES = 512
# Allocations move by up to this many bytes from block to block.
MOST_PADDING_BYTES = 4 << 20
# Of inputs that are read again, as in the process that measures kernels.
PIECE_BYTES = 1 << 20


class Graph:
    """A captured graph, with what its calls returned: static tensors that each replay fills."""

    def __init__(self, graph: Any, results: List[Any], executable: Optional[int], kept: Sequence[Call]) -> None:
        self.graph, self.results, self.executable, self.kept = graph, results, executable, kept


class TorchBackend(Backend):
    """Starts PyTorch when first needed."""

    def __init__(self, device: str = "cuda") -> None:
        self._device = device
        self._torch: Any = None
        self._stream: Any = None
        self._driver: Optional[CudaDriver] = None
        self._overhead_ns: Optional[float] = None
        self._hold: Optional[Hold] = None

    @property
    def framework(self) -> Any:
        if self._torch is None:
            self._torch = self._start()
        return self._torch

    def _start(self) -> Any:
        torch = import_torch()
        if self._device != "cuda":
            return torch
        if not torch.cuda.is_available():
            built = f"CUDA {torch.version.cuda}" if torch.version.cuda else "no CUDA"
            message = f"PyTorch {torch.__version__} (built for {built}) sees no usable GPU"
            raise WorkerError("missing-gpu", f"{message}: {_why_no_gpu(torch)}")
        torch.cuda.init()
        self._stream = torch.cuda.Stream()
        self._driver = CudaDriver()
        self._hold = Hold(self._driver)
        return torch

    def describe(self) -> Dict[str, Any]:
        torch = self.framework
        versions: Dict[str, Any] = {"python": platform.python_version(), "torch": torch.__version__}
        if self._device != "cuda":
            return versions
        properties = torch.cuda.get_device_properties(0)
        versions.update(cuda=torch.version.cuda, gpu=properties.name)
        cudnn = torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None
        if cudnn is not None:
            versions["cudnn"] = _cudnn_version(cudnn)
        uuid = getattr(properties, "uuid", None)
        if uuid is not None:
            text = str(uuid)
            versions["gpuUuid"] = text if text.startswith("GPU-") else f"GPU-{text}"
        return versions

    @contextlib.contextmanager
    def scope(self) -> Any:
        torch = self.framework
        with torch.no_grad():
            if self._stream is None:
                yield
            else:
                with torch.cuda.stream(self._stream):
                    yield

    def allocate(self, buffers: Sequence[BufferSpec], slot_count: int, seed: int) -> Ring:
        torch = self.framework
        padding = torch.empty(seed * 512 % MOST_PADDING_BYTES, dtype=torch.uint8, device=self._device)
        slots: List[Dict[str, Any]] = [{} for _ in range(slot_count)]
        columns = {}
        for buffer in buffers:
            dtype = getattr(torch, DTYPES[buffer.dtype])
            step = -(-buffer.bytes // SLOT_ALIGNMENT_BYTES) * SLOT_ALIGNMENT_BYTES
            raw = torch.full((slot_count * step,), 0xFF, dtype=torch.uint8, device=self._device)
            columns[buffer.name] = raw.view(dtype).view(slot_count, -1)
            for index, slot in enumerate(slots):
                flat = raw[index * step : index * step + buffer.bytes].view(dtype)
                slot[buffer.name] = flat.as_strided(tuple(buffer.shape), tuple(buffer.strides))
        del padding
        return Ring(slots, columns)

    def draw(self, tensor: Any, rule: Mapping[str, Any], seed: int) -> None:
        torch = self.framework
        generator = torch.Generator(device=self._device)
        generator.manual_seed(seed)
        if rule["kind"] == "constant":
            tensor.fill_(rule["value"])
        elif rule["kind"] == "permutation":
            tensor.copy_(torch.randperm(tensor.numel(), generator=generator, device=self._device).view(tensor.shape))
        elif rule["kind"] == "integers":
            # Through 64 bits: not every integer type can be drawn.
            wide = torch.empty(tensor.shape, dtype=torch.int64, device=self._device)
            tensor.copy_(wide.random_(int(rule["low"]), int(rule["high"]) + 1, generator=generator))
        elif tensor.dtype.is_floating_point:
            self._draw_real(tensor, rule, generator)
        else:
            real = torch.empty(tensor.shape, dtype=torch.float32, device=self._device)
            self._draw_real(real, rule, generator)
            tensor.copy_(real.round_())

    def _draw_real(self, tensor: Any, rule: Mapping[str, Any], generator: Any) -> None:
        if rule["kind"] == "normal":
            tensor.normal_(rule["mean"], rule["standardDeviation"], generator=generator)
        elif rule["kind"] == "uniform":
            tensor.uniform_(rule["low"], rule["high"], generator=generator)
        else:
            raise WorkerError("bad-request", f"unknown draw rule {rule['kind']!r}")

    def write(self, tensor: Any, buffer: BufferSpec, contents: bytearray) -> None:
        if len(contents) != buffer.bytes:
            message = f"'{buffer.name}' holds {buffer.bytes} bytes, {len(contents)} were sent"
            raise WorkerError("bad-request", message)
        torch = self.framework
        self._bytes_of(tensor, buffer).copy_(torch.frombuffer(contents, dtype=torch.uint8))

    def write_again(self, tensor: Any, source: Any, buffer: BufferSpec) -> None:
        self._bytes_of(tensor, buffer).copy_(self._bytes_of(source, buffer))

    def read(self, tensor: Any, buffer: BufferSpec) -> bytes:
        host = self._bytes_of(tensor, buffer).cpu()
        return ctypes.string_at(host.data_ptr(), buffer.bytes)

    def _bytes_of(self, tensor: Any, buffer: BufferSpec) -> Any:
        """The buffer's memory as bytes, gaps included."""
        torch = self.framework
        storage = tensor.untyped_storage()
        offset = tensor.data_ptr() - storage.data_ptr()
        return torch.empty(0, dtype=torch.uint8, device=self._device).set_(storage, offset, (buffer.bytes,), (1,))

    def reread(self, columns: Sequence[Any], seed: int) -> None:
        torch = self.framework
        pieces = [piece for column in columns for piece in column.view(torch.int64).flatten().split(PIECE_BYTES // 8)]
        random.Random(seed).shuffle(pieces)
        for piece in pieces:
            torch.sum(piece)

    def poison(self, tensor: Any) -> None:
        if tensor.dtype.is_floating_point:
            tensor.fill_(float("nan"))
        else:
            tensor.fill_(-1 if tensor.dtype.is_signed else self.framework.iinfo(tensor.dtype).max)

    def mismatch(self, value: Any, buffer: BufferSpec) -> Optional[str]:
        torch = self.framework
        if not isinstance(value, torch.Tensor):
            return f"a {type(value).__name__}, not a tensor"
        shape, dtype = tuple(buffer.shape), getattr(torch, DTYPES[buffer.dtype])
        if tuple(value.shape) == shape and value.dtype == dtype and value.device.type == self._device:
            return None
        return f"{value.dtype} {list(value.shape)} on {value.device}, not {dtype} {list(shape)} on {self._device}"

    def copy(self, target: Any, value: Any) -> None:
        if value is not target:
            target.copy_(value)

    def capture(self, calls: Sequence[Call]) -> Graph:
        torch = self.framework
        # Outside the capture first: lazily loaded kernels, library handles, cuDNN's plan for this shape.
        for call in [calls[0], calls[0], calls[-1]]:
            call()
        self._stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        results: List[Any] = []
        with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
            for call in calls:
                # Kept alive, so that no call reuses the memory of another's outputs.
                results.append(call())
        executable = _executable_of(graph)
        if executable is not None and self._driver is not None:
            self._driver.upload_graph(executable, self._stream.cuda_stream)
        return Graph(graph, results, executable, calls)

    def time_ns(self, graph: Graph) -> float:
        executable = graph.executable
        if executable is None:
            return self._timed(graph.graph.replay)
        return self._timed(lambda: self._launch(executable))

    def overhead_ns(self) -> float:
        """What a replay takes beside its launches, as in the process that measures kernels. Measured once."""
        if self._overhead_ns is None:
            one = self._empty_replay_ns(1)
            each_more = (self._empty_replay_ns(1 + MORE_EMPTY_KERNELS) - one) / MORE_EMPTY_KERNELS
            self._overhead_ns = max(0.0, one - each_more)
        return self._overhead_ns

    def _empty_replay_ns(self, count: int) -> float:
        hold, stream = self._hold, self._stream.cuda_stream
        assert hold is not None
        graph = self.capture([lambda: hold.enqueue_empty(stream)] * count)
        return statistics.median([self.time_ns(graph) for _ in range(OVERHEAD_REPLAYS)][1:])

    def eager_ns(self, call: Call) -> float:
        return self._timed(call)

    def _launch(self, executable: int) -> None:
        assert self._driver is not None
        self._driver.launch_graph(executable, self._stream.cuda_stream)

    def _timed(self, enqueue: Any) -> float:
        """Device time of what is enqueued, all of it handed over before the first event comes to pass."""
        torch = self.framework
        assert self._hold is not None
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self._stream.synchronize()
        self._hold.close(self._stream.cuda_stream)
        try:
            start.record(self._stream)
            enqueue()
            end.record(self._stream)
        finally:
            self._hold.open()
        end.synchronize()
        return start.elapsed_time(end) * 1e6

    def kernel_names(self, call: Call) -> List[str]:
        torch = self.framework
        self._stream.synchronize()
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profile:
            call()
            torch.cuda.synchronize()
        spent: Dict[str, float] = {}
        for event in profile.events():
            if str(event.device_type).endswith("CUDA") and not event.name.startswith(("Memcpy", "Memset")):
                spent[event.name] = spent.get(event.name, 0.0) + float(event.time_range.elapsed_us())
        if not spent:
            raise WorkerError("missing-tool", "the profiler saw no kernel: CUPTI is missing or not permitted")
        return sorted(spent, key=lambda name: -spent[name])

    def kernel_calls(self, code: bytes, plan: Mapping[str, Any], slots: Sequence[Mapping[str, Any]]) -> List[Call]:
        assert self.framework is not None and self._driver is not None
        module = self._driver.load(code)
        sizes = {buffer["name"]: buffer["bytes"] for buffer in plan["buffers"]}
        return [self._kernel_call(module, plan, slot, sizes) for slot in slots]

    def _kernel_call(
        self, module: Any, plan: Mapping[str, Any], slot: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> Call:
        addresses = {name: tensor.data_ptr() for name, tensor in slot.items()}
        enqueue = module.sequence(plan, addresses, sizes)
        return lambda: enqueue(self._stream.cuda_stream)

    def synchronize(self) -> None:
        if self._stream is not None:
            self._stream.synchronize()

    def release(self) -> None:
        if self._torch is not None and self._device == "cuda":
            self._torch.cuda.empty_cache()

    def classify(self, error: BaseException) -> Optional[str]:
        if self._torch is None:
            return None
        cuda = self._torch.cuda
        if isinstance(error, getattr(cuda, "OutOfMemoryError", ())):
            return "out-of-memory"
        accelerator_error = getattr(self._torch, "AcceleratorError", None)
        if accelerator_error is not None and isinstance(error, accelerator_error):
            return "gpu-error"
        return "gpu-error" if "CUDA error" in str(error) else None


def import_torch() -> Any:
    """PyTorch, or an answer that says what to install."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        hint = "install it into this Python (https://pytorch.org/get-started), or name another with WARPSMITH_PYTHON"
        message = f"PyTorch can't be imported by Python {platform.python_version()}: {error}; {hint}"
        raise WorkerError("missing-torch", message) from error


def _why_no_gpu(torch: Any) -> str:
    try:
        torch.cuda.init()
        return "torch.cuda.is_available() says no"
    except Exception as error:
        return " ".join(str(error).split())


def _cudnn_version(number: int) -> str:
    """e.g. 91900 → 9.19.0; before 9 it was 8907 → 8.9.7."""
    major, scale = (number // 10000, 100) if number >= 90000 else (number // 1000, 100)
    rest = number - major * (10000 if number >= 90000 else 1000)
    return f"{major}.{rest // scale}.{rest % scale}"


def _executable_of(graph: Any) -> Optional[int]:
    """The graph as the driver knows it, where torch gives it out: launched without torch's own bookkeeping around it."""
    function = getattr(graph, "raw_cuda_graph_exec", None)
    if function is None:
        return None
    try:
        return int(function()) or None
    except Exception:
        return None
