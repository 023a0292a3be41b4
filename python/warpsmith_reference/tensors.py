"""Inputs as the reference's own libraries hold them, and outputs as bytes of float64."""

import array
import math
import sys
from typing import Any, List, Optional, Sequence, Tuple

Shape = Sequence[int]
WHOLE_FORMATS = "?bBhHiIlLqQnN"


class WrongOutput(Exception):
    """`received` goes on after "returns"; `expected` where it is not the usual."""

    def __init__(self, received: str, expected: Optional[str] = None) -> None:
        super().__init__(received)
        self.received = received
        self.expected = expected


def input_of(payload: bytearray, shape: Optional[Shape]) -> Any:
    """A torch tensor if the reference imports torch, a NumPy array if it imports NumPy, else a memoryview of doubles; in its shape."""
    flat = memoryview(payload).cast("d")
    fits = shape is not None and math.prod(shape) == len(flat)
    view = memoryview(payload).cast("B").cast("d", list(shape)) if fits and len(flat) > 0 else flat  # type: ignore[arg-type]
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None:
        return torch.frombuffer(payload, dtype=torch.float64).reshape(view.shape)
    return view if numpy is None else numpy.asarray(view)


def output_of(name: str, value: Any, shape: Optional[Shape]) -> memoryview:
    """Its elements, row-major. @raises WrongOutput for what is no float64, or of another shape; integers are taken."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu().contiguous().numpy()
    numbers, received = elements_of(name, value)
    if shape is not None and len(received) > 1 and without_ones(received) != without_ones(shape):
        raise WrongOutput(f"'{name}' with shape {list(received)}", f"shape {list(shape)}, or flat and row-major")
    return numbers


def elements_of(name: str, value: Any) -> Tuple[memoryview, Tuple[int, ...]]:
    if isinstance(value, (int, float)):
        return as_bytes(array.array("d", [value])), (1,)
    if isinstance(value, (list, tuple)):
        return from_lists(name, value)
    try:
        view = memoryview(value)
    except TypeError:
        raise WrongOutput(f"'{name}' as {type(value).__name__}") from None
    kind = view.format.lstrip("@=<")
    shape = tuple(view.shape or (1,))
    if kind not in ("d", *WHOLE_FORMATS):
        raise WrongOutput(f"'{name}' as {dtype_text(value, kind)}", "float64; 64 bits all the way")
    if kind == "d" and view.c_contiguous:
        return as_bytes(view), shape
    return as_bytes(array.array("d", flattened(view.tolist()))), shape


def as_bytes(values: Any) -> memoryview:
    view = memoryview(values)
    return view.cast("B") if view.ndim > 0 else memoryview(view.tobytes())


def dtype_text(value: Any, kind: str) -> str:
    names = {"f": "float32", "e": "float16", "g": "long double"}
    return str(getattr(value, "dtype", names.get(kind, f"a buffer of format {kind}")))


def from_lists(name: str, value: Any) -> Tuple[memoryview, Tuple[int, ...]]:
    shape: List[int] = []
    first = value
    while isinstance(first, (list, tuple)):
        shape.append(len(first))
        first = first[0] if first else None
    try:
        return as_bytes(array.array("d", flattened(value))), tuple(shape)
    except TypeError:
        raise WrongOutput(f"'{name}' as a list of {type(first).__name__}", "numbers") from None


def flattened(value: Any) -> List[float]:
    if not isinstance(value, (list, tuple)):
        return [value]
    if value and not isinstance(value[0], (list, tuple)):
        return list(value)
    return [number for part in value for number in flattened(part)]


def without_ones(shape: Shape) -> List[int]:
    return [extent for extent in shape if extent != 1]


def rows_of(payload: bytearray) -> Any:
    """Numbers of rows, ascending: a list, or a NumPy array of int64."""
    numbers = [int(number) for number in memoryview(payload).cast("d")]
    numpy = sys.modules.get("numpy")
    return numbers if numpy is None else numpy.asarray(numbers, dtype=numpy.int64)


