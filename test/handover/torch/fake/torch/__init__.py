"""As much of PyTorch as an exported package calls: tensors without contents, a library of operators, CUDA that is not there.

Only for tests on machines without PyTorch. Addresses count up from 1 TiB; `allocations` lists every tensor made.
"""
import contextlib
import types

__version__ = "fake"


class dtype:
    def __init__(self, name, itemsize):
        self.name, self.itemsize = name, itemsize

    def __repr__(self):
        return f"torch.{self.name}"


_SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "int8": 1, "uint8": 1, "int16": 2, "int32": 4, "int64": 8}
_SIZES.update({"uint16": 2, "uint32": 4, "uint64": 8})
for _name, _size in _SIZES.items():
    globals()[_name] = dtype(_name, _size)


class device:
    def __init__(self, kind, index=None):
        kind, _, number = str(kind).partition(":")
        self.type, self.index = kind, int(number) if number else index

    def __eq__(self, other):
        return (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"


allocations = []
_next_address = [1 << 40]


def _dense(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class Tensor:
    def __init__(self, shape, strides, dtype, device, address=None, requires_grad=False):
        self.shape, self._strides, self.dtype, self.device = tuple(shape), tuple(strides), dtype, device
        self.requires_grad, self.version = requires_grad, 0
        self._bytes = dtype.itemsize * (1 + sum((extent - 1) * step for extent, step in zip(self.shape, self._strides)))
        if address is None:
            address = _next_address[0]
            _next_address[0] += -(-self._bytes // 512) * 512
        self._address = address

    def stride(self):
        return self._strides

    def data_ptr(self):
        return self._address

    def numel(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def new_empty_strided(self, shape, strides, dtype):
        return empty_strided(shape, strides, dtype=dtype, device=self.device)


def empty_strided(shape, strides, dtype, device):
    made = Tensor(shape, strides, dtype, device)
    allocations.append(made)
    return made


def empty(*shape, dtype, device):
    return empty_strided(shape, _dense(shape), dtype=dtype, device=device)


def is_grad_enabled():
    return True


def _increment_version(tensor):
    tensor.version += 1


autograd = types.SimpleNamespace(graph=types.SimpleNamespace(increment_version=_increment_version))
Tag = types.SimpleNamespace(pt2_compliant_tag="pt2", needs_fixed_stride_order="fixed", needs_exact_strides="exact")


class _Operator:
    def __init__(self, schema, tags):
        self.schema, self.tags, self.kernels = schema, tags, {}
        self.default = self

    def __call__(self, *values):
        kind = values[0].device.type
        return self.kernels["CUDA" if kind == "cuda" else "CPU" if kind == "cpu" else "Fake"](*values)


class _Namespace:
    pass


ops = _Namespace()


class _Library:
    def __init__(self, namespace, kind):
        assert kind == "DEF"
        self.namespace = namespace
        setattr(ops, namespace, _Namespace())

    def define(self, schema, tags=()):
        setattr(getattr(ops, self.namespace), schema.partition("(")[0], _Operator(schema, tags))

    def impl(self, name, function, key):
        getattr(getattr(ops, self.namespace), name).kernels[key] = function


def _register_fake(name, function, lib):
    namespace, _, operator = name.partition("::")
    assert namespace == lib.namespace
    lib.impl(operator, function, "Fake")


library = types.SimpleNamespace(Library=_Library, register_fake=_register_fake)

_state = types.SimpleNamespace(device=0, stream=0, capturing=False)


@contextlib.contextmanager
def _on_device(index):
    before, _state.device = _state.device, index
    try:
        yield
    finally:
        _state.device = before


cuda = types.SimpleNamespace(
    device=_on_device,
    current_device=lambda: _state.device,
    is_current_stream_capturing=lambda: _state.capturing,
    state=_state,
)
_C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda index: _state.stream, _cuda_getDevice=lambda: _state.device)
