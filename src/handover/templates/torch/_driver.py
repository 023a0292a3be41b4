"""The CUDA driver, called with ctypes. Nothing here knows PyTorch.

Numbers and layouts: cuda.h of CUDA 13.0; they never change between versions.
"""
import contextlib
import ctypes
import sys
import threading

_SHARED_BYTES = 97  # CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
_SM_COUNT = 16
_CAPABILITY = (75, 76)
_FUNCTION_STATIC_SHARED, _FUNCTION_DYNAMIC_SHARED, _FUNCTION_CARVE_OUT, _FUNCTION_ANY_CLUSTER = 1, 8, 9, 14
_COOPERATIVE, _CLUSTER, _PROGRAMMATIC = 2, 4, 6  # CUlaunchAttributeID
_CAPTURE_RELAXED = 2
_STREAM_NON_BLOCKING = 1
_WITHOUT_ASKING_BYTES = 48 * 1024
_PORTABLE_CLUSTER_CTAS = 8

TENSOR_MAP_BYTES = 128
_TENSOR_MAP_TYPES = {
    "u8": 0, "i8": 0, "u16": 1, "i16": 1, "u32": 2, "i32": 3, "u64": 4, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9,
}
_INTERLEAVES = {"none": 0, "16B": 1, "32B": 2}
_SWIZZLES = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
_PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
_FILLS = {"zeros": 0, "nan": 1}

_POINTER, _INT, _UINT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t

# Name -> types of the parameters; each returns a CUresult. The second table is looked up when needed.
_FUNCTIONS = {
    "cuInit": (_UINT,),
    "cuGetErrorString": (_INT, _POINTER),
    "cuDeviceGet": (_POINTER, _INT),
    "cuDeviceGetAttribute": (_POINTER, _INT, _INT),
    "cuDevicePrimaryCtxRetain": (_POINTER, _INT),
    "cuCtxGetCurrent": (_POINTER,),
    "cuCtxSetCurrent": (_POINTER,),
    "cuModuleLoadData": (_POINTER, _POINTER),
    "cuModuleGetFunction": (_POINTER, _POINTER, ctypes.c_char_p),
    "cuFuncGetAttribute": (_POINTER, _INT, _POINTER),
    "cuFuncSetAttribute": (_POINTER, _INT, _INT),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (_POINTER, _POINTER, _INT, _SIZE),
    "cuThreadExchangeStreamCaptureMode": (_POINTER,),
    "cuMemAlloc_v2": (_POINTER, _SIZE),
    "cuStreamCreate": (_POINTER, _UINT),
    "cuStreamSynchronize": (_POINTER,),
    "cuStreamDestroy_v2": (_POINTER,),
    "cuMemsetD8Async": (_POINTER, ctypes.c_ubyte, _SIZE, _POINTER),
    "cuMemcpyDtoDAsync_v2": (_POINTER, _POINTER, _SIZE, _POINTER),
    "cuMemsetD32Async": (_POINTER, _UINT, _SIZE, _POINTER),
    "cuLaunchKernelEx": (_POINTER, _POINTER, _POINTER, _POINTER),
}
_NEWER_FUNCTIONS = {
    "cuTensorMapEncodeTiled": (_POINTER, _INT, _UINT, *[_POINTER] * 5, *[_INT] * 4),
}


class CudaError(RuntimeError):
    """A call of the CUDA driver that failed."""


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig, 56 bytes."""

    _fields_ = [
        ("grid", _UINT * 3),
        ("block", _UINT * 3),
        ("shared_bytes", _UINT),
        ("stream", ctypes.c_uint64),
        ("attributes", ctypes.c_uint64),
        ("attribute_count", _UINT),
    ]


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute, 72 bytes."""

    _fields_ = [("id", _INT), ("padding", _UINT), ("value", _UINT * 16)]


class Memory:
    """Zeroed host memory at a multiple of `alignment` bytes."""

    def __init__(self, size, alignment=128):
        self._whole = ctypes.create_string_buffer(size + alignment)
        self.address = -(-ctypes.addressof(self._whole) // alignment) * alignment

    def write(self, offset, data):
        ctypes.memmove(self.address + offset, data, len(data))


def _open():
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise CudaError(f"the CUDA driver can't be loaded ({error}); expected {name} of an NVIDIA driver") from None


class Driver:
    """The library's functions, which raise CudaError; `launch` alone returns the driver's code, for speed."""

    def __init__(self, library=None):
        self._library = _open() if library is None else library
        self._functions = {name: self._function(name, types) for name, types in _FUNCTIONS.items()}
        self._encode = None
        self.launch = self._functions["cuLaunchKernelEx"]
        self.call("cuInit", 0)

    def _function(self, name, types):
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise CudaError(f"the CUDA driver has no {name}; expected the driver of CUDA 12 or later") from None
        function.argtypes, function.restype = types, _INT
        return function

    def call(self, name, *arguments):
        self.check(self._functions[name](*arguments), name)

    def check(self, code, what):
        if code != 0:
            raise CudaError(f"{what}: {self.explain(code)}")

    def explain(self, code):
        text = ctypes.c_char_p()
        known = self._functions["cuGetErrorString"](code, ctypes.addressof(text)) == 0 and text.value
        return f"{text.value.decode()} (CUDA error {code})" if known else f"CUDA error {code}"

    def integer(self, name, *arguments):
        value = _INT()
        self.call(name, ctypes.addressof(value), *arguments)
        return value.value

    def handle(self, name, *arguments):
        value = ctypes.c_uint64()
        self.call(name, ctypes.addressof(value), *arguments)
        return value.value

    def ensure_context(self, index):
        """A thread that has not used CUDA yet has no context: make it the device's own, which PyTorch uses, too."""
        if self.handle("cuCtxGetCurrent") == 0:
            self.call("cuCtxSetCurrent", self.handle("cuDevicePrimaryCtxRetain", self.integer("cuDeviceGet", index)))

    def device_facts(self, index):
        """(major, minor) of the compute capability, SMs, largest shared memory of a CTA in bytes."""
        device = self.integer("cuDeviceGet", index)
        capability = tuple(self.integer("cuDeviceGetAttribute", attribute, device) for attribute in _CAPABILITY)
        sm_count = self.integer("cuDeviceGetAttribute", _SM_COUNT, device)
        return capability, sm_count, self.integer("cuDeviceGetAttribute", _SHARED_BYTES, device)

    @contextlib.contextmanager
    def while_capturing(self):
        """Lets this thread load and allocate although a stream, of this or another thread, is being captured."""
        mode = _INT(_CAPTURE_RELAXED)
        self.call("cuThreadExchangeStreamCaptureMode", ctypes.addressof(mode))
        try:
            yield
        finally:
            self.call("cuThreadExchangeStreamCaptureMode", ctypes.addressof(mode))

    def load(self, image, symbols):
        """Functions of a module in the current context."""
        with self.while_capturing():
            module = self.handle("cuModuleLoadData", ctypes.cast(ctypes.c_char_p(image), _POINTER).value)
            return [Function(self, self.handle("cuModuleGetFunction", module, name.encode()), name) for name in symbols]

    def zeroed(self, size):
        """The address of new device memory that holds zeros now, whatever stream looks at it."""
        with self.while_capturing():
            address = self.handle("cuMemAlloc_v2", size)
            stream = self.handle("cuStreamCreate", _STREAM_NON_BLOCKING)
            self.call("cuMemsetD8Async", address, 0, size, stream)
            self.call("cuStreamSynchronize", stream)
            self.call("cuStreamDestroy_v2", stream)
        return address

    def encode_tensor_map(self, spec, address, place):
        """A CUtensorMap as Memory. `spec` is the plan's `TensorMap`."""
        if self._encode is None:
            name = "cuTensorMapEncodeTiled"
            self._encode = self._function(name, _NEWER_FUNCTIONS[name])
        encoded = Memory(TENSOR_MAP_BYTES)
        rank = len(spec.global_dim)
        wide = lambda values: ctypes.byref((ctypes.c_uint64 * max(1, len(values)))(*values))
        narrow = lambda values: ctypes.byref((ctypes.c_uint32 * len(values))(*values))
        code = self._encode(
            encoded.address, _TENSOR_MAP_TYPES[spec.dtype], rank, address, wide(spec.global_dim), wide(spec.strides_bytes),
            narrow(spec.box_dim), narrow(spec.element_strides), _INTERLEAVES[spec.interleave], _SWIZZLES[spec.swizzle],
            _PROMOTIONS[spec.l2_promotion], _FILLS[spec.fill],
        )
        if code != 0:
            raise CudaError(
                f"{place}: the driver refuses the tensor map of {spec.buffer}: {self.explain(code)}; "
                f"at a multiple of {address & -address} bytes, {spec}"
            )
        return encoded


class ZeroedMemory:
    """Small pieces of zeroed device memory in the current context, which are never given back.

    Not from PyTorch's allocator: what outlives a call must not lie in the private memory of a graph, and needs no zeroing
    in it.
    """

    _CHUNK_BYTES = 1 << 20
    LARGEST = 1 << 16

    def __init__(self, driver):
        self._driver, self._lock = driver, threading.Lock()
        self._next = self._end = 0

    def take(self, size, alignment):
        with self._lock:
            address = -(-self._next // alignment) * alignment
            if address + size > self._end:
                address = self._driver.zeroed(self._CHUNK_BYTES)
                self._end = address + self._CHUNK_BYTES
                address = -(-address // alignment) * alignment
            self._next = address + size
            return address


class Function:
    """One kernel function in one context, and what it was last configured for."""

    def __init__(self, driver, handle, name):
        self._driver, self.handle, self.name = driver, handle, name
        self._static_bytes = driver.integer("cuFuncGetAttribute", _FUNCTION_STATIC_SHARED, handle)
        self._dynamic_bytes = max(0, _WITHOUT_ASKING_BYTES - self._static_bytes)
        self._carve_out, self._any_cluster = -1, False

    def configure(self, shared_bytes, cluster, carve_out):
        """Attributes only grow, so that one call's settings serve another's."""
        if shared_bytes > self._dynamic_bytes:
            self._set(_FUNCTION_DYNAMIC_SHARED, shared_bytes)
            self._dynamic_bytes = shared_bytes
        if carve_out != self._carve_out:
            self._set(_FUNCTION_CARVE_OUT, carve_out)
            self._carve_out = carve_out
        ctas = 1 if cluster is None else cluster[0] * cluster[1] * cluster[2]
        if ctas > _PORTABLE_CLUSTER_CTAS and not self._any_cluster:
            self._set(_FUNCTION_ANY_CLUSTER, 1)
            self._any_cluster = True

    def _set(self, attribute, value):
        self._driver.call("cuFuncSetAttribute", self.handle, attribute, value)

    def ctas_per_sm(self, threads, shared_bytes):
        return self._driver.integer("cuOccupancyMaxActiveBlocksPerMultiprocessor", self.handle, threads, shared_bytes)


def launch_attributes(cluster, cooperative, programmatic):
    """An array of CUlaunchAttribute, possibly empty."""
    values = []
    if cluster is not None:
        values.append((_CLUSTER, cluster))
    if cooperative:
        values.append((_COOPERATIVE, (1,)))
    if programmatic:
        values.append((_PROGRAMMATIC, (1,)))
    attributes = (LaunchAttribute * len(values))()
    for attribute, (number, words) in zip(attributes, values):
        attribute.id = number
        for index, word in enumerate(words):
            attribute.value[index] = word
    return attributes
