"""A CUDA driver that launches nothing and writes down what it is asked; in place of libcuda in `_driver.Driver`."""
import ctypes

OUT_OF_MEMORY = 2
# On which the package zeroes memory that it keeps.
OWN_STREAM = 77


def _at(kind, address):
    return kind.from_address(address)


def _raw(address, size):
    return ctypes.string_at(address, size).hex()


class FakeDriver:
    """`argument_bytes`: sizes of the parameters of each function, by symbol; `facts`: attributes of every device."""

    def __init__(self, argument_bytes, sm_count=58, shared_bytes=101_376, capability=(9, 0), ctas_per_sm=3, static_bytes=0):
        self.events, self.loads, self.attributes, self.maps = [], 0, {}, 0
        self._argument_bytes, self._static_bytes = argument_bytes, static_bytes
        self._facts = {16: sm_count, 97: shared_bytes, 75: capability[0], 76: capability[1]}
        self._ctas_per_sm = ctas_per_sm
        self.fail_launches = 0
        self._context = 0
        self._symbols = []
        for name in [name for name in dir(self) if name.startswith("_cu")]:
            self._publish(name)

    def _publish(self, name):
        method = getattr(self, name)

        def function(*values):
            return method(*values) or 0

        setattr(self, name[1:], function)

    def _cuInit(self, flags):
        assert flags == 0

    def _cuGetErrorString(self, code, text):
        self._text = ctypes.c_char_p(b"out of memory" if code == OUT_OF_MEMORY else b"some error")
        _at(ctypes.c_uint64, text).value = ctypes.cast(self._text, ctypes.c_void_p).value

    def _cuDeviceGet(self, out, index):
        _at(ctypes.c_int, out).value = index

    def _cuDeviceGetAttribute(self, out, attribute, device):
        _at(ctypes.c_int, out).value = self._facts[attribute]

    def _cuDevicePrimaryCtxRetain(self, out, device):
        _at(ctypes.c_uint64, out).value = 1000 + device

    def _cuCtxGetCurrent(self, out):
        _at(ctypes.c_uint64, out).value = self._context

    def _cuCtxSetCurrent(self, context):
        self._context = context

    def _cuModuleLoadData(self, out, image):
        assert image
        self.loads += 1
        _at(ctypes.c_uint64, out).value = self.loads

    def _cuModuleGetFunction(self, out, module, name):
        self._symbols.append(name.decode())
        _at(ctypes.c_uint64, out).value = len(self._symbols)

    def _cuFuncGetAttribute(self, out, attribute, function):
        _at(ctypes.c_int, out).value = self._static_bytes

    def _cuFuncSetAttribute(self, function, attribute, value):
        self.attributes[self._symbols[function - 1], attribute] = value

    def _cuOccupancyMaxActiveBlocksPerMultiprocessor(self, out, function, threads, shared_bytes):
        _at(ctypes.c_int, out).value = self._ctas_per_sm

    def _cuThreadExchangeStreamCaptureMode(self, mode):
        place = _at(ctypes.c_int, mode)
        before, self._mode = getattr(self, "_mode", 0), place.value
        place.value = before

    def _cuMemAlloc_v2(self, out, size):
        self.allocated = getattr(self, "allocated", 0) + 1
        _at(ctypes.c_uint64, out).value = (1 << 45) + (self.allocated << 30)

    def _cuStreamCreate(self, out, flags):
        assert flags == 1
        _at(ctypes.c_uint64, out).value = OWN_STREAM

    def _cuStreamSynchronize(self, stream):
        assert stream == OWN_STREAM

    def _cuStreamDestroy_v2(self, stream):
        assert stream == OWN_STREAM

    def _cuMemsetD8Async(self, address, value, count, stream):
        if stream == OWN_STREAM:
            return
        self.events.append({"memset": address, "value": value, "bytes": count, "stream": stream})

    def _cuMemcpyDtoDAsync_v2(self, to, source, count, stream):
        self.events.append({"copy": to, "from": source, "bytes": count, "stream": stream})

    def _cuMemsetD32Async(self, address, value, count, stream):
        self.events.append({"store": address, "value": value, "count": count, "stream": stream})

    def _cuTensorMapEncodeTiled(self, out, dtype, rank, address, dims, strides, box, steps, interleave, swizzle, promotion, fill):
        assert out % 64 == 0
        lists = [list(values._obj) for values in (dims, strides, box, steps)]
        self.maps += 1
        self.encoded = getattr(self, "encoded", {})
        described = {"dtype": dtype, "address": address, "lists": lists, "modes": [interleave, swizzle, promotion, fill]}
        described["lists"][1] = lists[1][: rank - 1]
        self.encoded[out] = described

    def _cuLaunchKernelEx(self, config, function, parameters, extra):
        if self.fail_launches:
            return self.fail_launches
        words = (ctypes.c_uint32 * 14).from_address(config)
        stream, attributes = _at(ctypes.c_uint64, config + 32).value, _at(ctypes.c_uint64, config + 40).value
        symbol = self._symbols[function - 1]
        event = {"launch": symbol, "grid": list(words[0:3]), "block": list(words[3:6]), "shared": words[6], "stream": stream}
        for index in range(words[12]):
            place = attributes + 72 * index
            kind, value = _at(ctypes.c_int, place).value, list((ctypes.c_uint32 * 3).from_address(place + 8))
            event[{2: "cooperative", 4: "cluster", 6: "dependent"}[kind]] = value if kind == 4 else value[0]
        event["arguments"] = []
        for index, size in enumerate(self._argument_bytes[symbol]):
            address = _at(ctypes.c_uint64, parameters + 8 * index).value
            encoded = getattr(self, "encoded", {}).get(address) if size == 128 else None
            event["arguments"].append(encoded or _raw(address, size))
        self.events.append(event)
