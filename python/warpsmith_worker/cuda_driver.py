"""The few functions of the CUDA driver that PyTorch does not offer, called in PyTorch's own context."""

import ctypes
from typing import Any, Callable, Dict, Mapping, Sequence

from .errors import WorkerError

POINTER = ctypes.c_void_p
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
OPT_IN_ABOVE_BYTES = 48 * 1024

SIGNATURES: Dict[str, Sequence[Any]] = {
    "cuGetErrorName": [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)],
    "cuModuleLoadData": [ctypes.POINTER(POINTER), ctypes.c_char_p],
    "cuModuleUnload": [POINTER],
    "cuModuleGetFunction": [ctypes.POINTER(POINTER), POINTER, ctypes.c_char_p],
    "cuFuncSetAttribute": [POINTER, ctypes.c_int, ctypes.c_int],
    "cuLaunchKernel": [POINTER] + [ctypes.c_uint] * 7 + [POINTER, ctypes.POINTER(POINTER), ctypes.POINTER(POINTER)],
    "cuMemHostAlloc": [ctypes.POINTER(POINTER), ctypes.c_size_t, ctypes.c_uint],
    "cuMemHostGetDevicePointer_v2": [ctypes.POINTER(ctypes.c_uint64), POINTER, ctypes.c_uint],
    "cuMemsetD8Async": [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t, POINTER],
    "cuMemcpyDtoDAsync_v2": [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t, POINTER],
    "cuGraphUpload": [POINTER, POINTER],
    "cuGraphLaunch": [POINTER, POINTER],
}

HOST_MEMORY_MAPPED = 2  # CU_MEMHOSTALLOC_DEVICEMAP
HOLD_LIMIT_NS = 20_000_000
# One thread that waits until the host sets a word, or a time is over.
HOLD_PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry warpsmith_hold(.param .u64 word, .param .u64 limit_ns)
{
  .reg .pred %ready, %early;
  .reg .b32 %value;
  .reg .b64 %word, %end, %now;
  ld.param.u64 %word, [word];
  ld.param.u64 %end, [limit_ns];
  mov.u64 %now, %globaltimer;
  add.u64 %end, %end, %now;
WAIT:
  ld.volatile.u32 %value, [%word];
  setp.ne.u32 %ready, %value, 0;
  @%ready bra DONE;
  mov.u64 %now, %globaltimer;
  setp.lt.u64 %early, %now, %end;
  @%early bra WAIT;
DONE:
  ret;
}
.visible .entry warpsmith_empty()
{
  ret;
}
"""

CTYPE_OF_DTYPE: Mapping[str, Any] = {
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
    "i8": ctypes.c_int8,
    "u8": ctypes.c_uint8,
    "i16": ctypes.c_int16,
    "u16": ctypes.c_uint16,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
}


class CudaDriver:
    """libcuda; every function checked."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
            self._functions = {name: getattr(self._library, name) for name in SIGNATURES}
        except (OSError, AttributeError) as error:
            raise WorkerError("missing-gpu", f"the CUDA driver can't be used: {error}") from error
        for name, function in self._functions.items():
            function.argtypes, function.restype = SIGNATURES[name], ctypes.c_int

    def call(self, name: str, *arguments: Any) -> None:
        code = self._functions[name](*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self._functions["cuGetErrorName"](code, ctypes.byref(text))
            described = text.value.decode() if text.value else "an unknown error"
            raise WorkerError("gpu-error", f"{name} failed: {described} ({code})")

    def launch(
        self,
        function: Any,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        stream: int,
        values: Sequence[Any],
    ) -> None:
        """Enqueues a kernel; `values` are ctypes objects, one for each parameter, copied by this call."""
        pointers = (POINTER * max(1, len(values)))(*[ctypes.addressof(value) for value in values])
        self.call("cuLaunchKernel", function, *grid, *block, shared_bytes, stream, pointers, None)

    def launch_graph(self, executable: int, stream: int) -> None:
        self.call("cuGraphLaunch", executable, stream)

    def upload_graph(self, executable: int, stream: int) -> None:
        self.call("cuGraphUpload", executable, stream)

    def load(self, code: bytes) -> "Module":
        return Module(self, code)


class Hold:
    """Keeps a stream waiting until everything behind it has been enqueued, so that no time contains the host's.

    The same as in the process that measures kernels.
    """

    def __init__(self, driver: CudaDriver) -> None:
        self._driver = driver
        self._module = driver.load(HOLD_PTX)  # ctypes ends the text with the zero that the driver looks for.
        self._function = self._module.function("warpsmith_hold")
        self._empty = self._module.function("warpsmith_empty")
        host, device = POINTER(), ctypes.c_uint64()
        driver.call("cuMemHostAlloc", ctypes.byref(host), 64, HOST_MEMORY_MAPPED)
        driver.call("cuMemHostGetDevicePointer_v2", ctypes.byref(device), host, 0)
        assert host.value is not None
        self._word = ctypes.c_uint32.from_address(host.value)
        self._values = [device, ctypes.c_uint64(HOLD_LIMIT_NS)]

    def close(self, stream: int) -> None:
        """Makes the stream wait for `open`. Nothing of an earlier hold may still run."""
        self._word.value = 0
        self._driver.launch(self._function, (1, 1, 1), (1, 1, 1), 0, stream, self._values)

    def open(self) -> None:
        self._word.value = 1

    def enqueue_empty(self, stream: int) -> None:
        """Enqueues a kernel of one thread that does nothing."""
        self._driver.launch(self._empty, (1, 1, 1), (1, 1, 1), 0, stream, ())


class Module:
    """A loaded cubin, or PTX that the driver compiles."""

    def __init__(self, driver: CudaDriver, code: bytes) -> None:
        self._driver = driver
        self._handle = POINTER()
        driver.call("cuModuleLoadData", ctypes.byref(self._handle), code)

    def __del__(self) -> None:
        try:
            self._driver.call("cuModuleUnload", self._handle)
        except Exception:
            pass  # The context may be gone by now.

    def function(self, name: str) -> Any:
        handle = POINTER()
        self._driver.call("cuModuleGetFunction", ctypes.byref(handle), self._handle, name.encode())
        return handle

    def sequence(
        self, plan: Mapping[str, Any], addresses: Mapping[str, int], sizes: Mapping[str, int]
    ) -> Callable[[int], None]:
        """A function of a stream that enqueues the plan's steps on buffers at these addresses."""
        steps = [self._step(step, addresses, sizes) for step in plan["steps"]]

        def enqueue(stream: int) -> None:
            for step in steps:
                step(stream)

        return enqueue

    def _step(
        self, step: Mapping[str, Any], addresses: Mapping[str, int], sizes: Mapping[str, int]
    ) -> Callable[[int], None]:
        if step["kind"] == "memset":
            name = step["buffer"]
            return lambda stream: self._driver.call(
                "cuMemsetD8Async", addresses[name], step["byteValue"] & 0xFF, sizes[name], stream
            )
        if step["kind"] == "copy":
            source, target = (addresses[step[key]["buffer"]] + step[key]["offsetBytes"] for key in ("from", "to"))
            size = step["bytes"]
            return lambda stream: self._driver.call("cuMemcpyDtoDAsync_v2", target, source, size, stream)
        for feature in ("cluster", "cooperative", "programmaticDependent", "carveOut"):
            if step.get(feature):
                raise WorkerError("unsupported", f"launches with {feature} are not run in the Python worker")
        function, shared_bytes = self.function(step["functionName"]), step["dynamicSharedBytes"]
        if shared_bytes > OPT_IN_ABOVE_BYTES:
            self._driver.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
        values = [_argument(argument, addresses) for argument in step["arguments"]]
        grid, block = step["grid"], step["block"]
        return lambda stream: self._driver.launch(function, grid, block, shared_bytes, stream, values)


def _argument(argument: Mapping[str, Any], addresses: Mapping[str, int]) -> Any:
    """Storage that holds one kernel parameter."""
    kind = argument["kind"]
    if kind == "buffer":
        return ctypes.c_uint64(addresses[argument["buffer"]] + argument["offsetBytes"])
    if kind == "null":
        return ctypes.c_uint64(0)
    if kind == "scalar" and argument["dtype"] in CTYPE_OF_DTYPE:
        value = argument["value"]
        is_floating = argument["dtype"] in ("f32", "f64")
        return CTYPE_OF_DTYPE[argument["dtype"]](value if is_floating else int(value))
    raise WorkerError("unsupported", f"kernel arguments of kind {kind} are not passed by the Python worker")
