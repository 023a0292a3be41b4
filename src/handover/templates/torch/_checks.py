"""What a call's tensors must be, and the dimensions that follow from them."""
import torch

DTYPES = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    # Older versions of PyTorch have no wide unsigned types.
    "u16": getattr(torch, "uint16", None), "u32": getattr(torch, "uint32", None), "u64": getattr(torch, "uint64", None),
}


_ELEMENT_BYTES = {name: 8 if name[1:] == "64" else 4 if name[1:] == "32" else 1 if name[1:] == "8" else 2 for name in DTYPES}


class Tensor:
    """A tensor of the problem: its shape and strides in words, for messages."""

    def __init__(self, name, dtype, shape, strides, alignment):
        self.name, self.dtype, self.shape, self.strides, self.alignment = name, DTYPES[dtype], shape, strides, alignment
        self.element_bytes = _ELEMENT_BYTES[dtype]


class Dimension:
    def __init__(self, name, expected, values=None, minimum=1, maximum=2**53 - 1):
        self.name, self.expected, self.values = name, expected, values
        self.minimum, self.maximum = minimum, maximum

    def allows(self, value):
        return value in self.values if self.values else self.minimum <= value <= self.maximum


def dimensions_of(problem, tensors, given):
    """The values of all dimensions, in the problem's order.

    `tensors` are the operands in order, `given` the dimensions that the caller chose; None: not chosen.
    Raises TypeError for a dtype, ValueError for everything else.
    """
    _check_kinds(problem, tensors)
    shapes = [tuple(tensor.shape) for tensor in tensors]
    for known, shape in zip(problem.OPERANDS, shapes):
        if len(shape) != len(known.shape):
            raise ValueError(f"{known.name} has shape {shape}; expected {len(known.shape)} axes: {_text(known.shape)}")
    for values in _readings(problem, given):
        dimensions = problem.bind(shapes, values)
        _check_shapes(problem, shapes, dimensions)
        wanted = problem.operand_strides(dimensions)
        if all(map(_same_layout, shapes, (tensor.stride() for tensor in tensors), wanted)):
            return dimensions
    raise ValueError(_strides_text(problem, shapes, tensors, given))


def check_range(problem, dimensions):
    """Of sizes that are known: each dimension allowed, each limit met."""
    for dimension, value in zip(problem.DIMENSIONS, dimensions):
        if not dimension.allows(value):
            raise ValueError(f"{dimension.name} is {value}; expected {dimension.expected}")
    refused = failure(problem, dimensions)
    if refused is not None:
        raise ValueError(f"{problem.NAME} is not defined for this call: {refused}")


def failure(subject, dimensions):
    """The first limit that the call breaks, in words; None if it breaks none. `subject` is a problem or a kernel."""
    try:
        return subject.refusal(dimensions)
    except (ArithmeticError, ValueError) as error:
        return f"a limit has no value: {error}"


def buffer_bytes(problem, dimensions):
    """Bytes from the first element of every tensor to just after its last, by name; 0: not wanted."""
    operands = zip(problem.OPERANDS, problem.operand_shapes(dimensions), problem.operand_strides(dimensions))
    layouts = [(known, True, shape, strides) for known, shape, strides in operands]
    layouts += [(known, *layout) for known, layout in zip(problem.RESULTS, problem.results(dimensions))]
    return {
        known.name: known.element_bytes * (1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides)))
        if wanted
        else 0
        for known, wanted, shape, strides in layouts
    }


def check_result(known, tensor, shape, strides, device):
    """A tensor that the caller wants a result in."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"out: {known.name} is {type(tensor).__name__}; expected a tensor")
    if tensor.dtype != known.dtype:
        raise TypeError(f"out: {known.name} is {tensor.dtype}; expected {known.dtype}")
    if tensor.device != device:
        raise ValueError(f"out: {known.name} is on {tensor.device}; expected {device}")
    if tuple(tensor.shape) != tuple(shape):
        raise ValueError(f"out: {known.name} has shape {tuple(tensor.shape)}; expected {_text(known.shape)} = {tuple(shape)}")
    if not _same_layout(shape, tensor.stride(), strides):
        raise ValueError(f"out: {known.name} has strides {tensor.stride()}; expected {_text(known.strides)} = {strides}")


def refuse_gradients(problem):
    raise RuntimeError(
        f"{problem.NAME} has no gradient, but a tensor of this call requires one; "
        "call it under torch.no_grad(), or pass tensor.detach()"
    )


def _check_kinds(problem, tensors):
    device = tensors[0].device
    for known, tensor in zip(problem.OPERANDS, tensors):
        if tensor.dtype != known.dtype:
            raise TypeError(f"{known.name} is {tensor.dtype}; expected {known.dtype}")
        if tensor.device.type not in ("cuda", "meta"):
            raise ValueError(f"{known.name} is on {tensor.device}; expected a CUDA device")
        if tensor.device != device:
            raise ValueError(f"{known.name} is on {tensor.device}; expected {device}, where {problem.OPERANDS[0].name} is")


def _readings(problem, given):
    """`given`, with every combination of the dimensions that strides tell where nobody gave them; defaults first."""
    readings = [tuple(given)]
    for index, values in problem.TOLD:
        if given[index] is None:
            readings = [reading[:index] + (value,) + reading[index + 1 :] for value in values for reading in readings]
    return readings


def _check_shapes(problem, shapes, dimensions):
    for known, shape, wanted in zip(problem.OPERANDS, shapes, problem.operand_shapes(dimensions)):
        if shape == wanted:
            continue
        names = {name for axis in known.shape for name in problem.NAMES if _mentions(axis, name)}
        values = [f"{name} = {value}" for name, value in zip(problem.NAMES, dimensions) if name in names]
        raise ValueError(
            f"{known.name} has shape {shape}; expected {_text(known.shape)} = {wanted}, where {', '.join(values)}"
        )


def _mentions(text, name):
    return name in "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split()


def _same_layout(shape, strides, wanted):
    """The stride of an axis of one element says nothing."""
    return all(extent == 1 or stride == right for extent, stride, right in zip(shape, strides, wanted))


def _strides_text(problem, shapes, tensors, given):
    readings = [problem.operand_strides(problem.bind(shapes, values)) for values in _readings(problem, given)]
    for index, (known, shape, tensor) in enumerate(zip(problem.OPERANDS, shapes, tensors)):
        allowed = [reading[index] for reading in readings]
        if not any(_same_layout(shape, tensor.stride(), wanted) for wanted in allowed):
            choices = " or ".join(str(wanted) for wanted in dict.fromkeys(allowed))
            return (
                f"{known.name} has shape {shape} and strides {tensor.stride()}; expected strides {choices} "
                f"({_text(known.strides)}); {known.name}.contiguous() makes a copy with the first"
            )
    strides = ", ".join(f"{known.name} {tensor.stride()}" for known, tensor in zip(problem.OPERANDS, tensors))
    return f"the strides of the tensors do not fit together: {strides}; expected one layout for all of them"


def _text(expressions):
    return f"({', '.join(expressions)})"
