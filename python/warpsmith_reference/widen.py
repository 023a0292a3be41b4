"""Lets code that was written for narrower types compute in float64: their names then stand for it."""

import contextlib
import sys
from typing import Any, Iterator, List, Tuple

NUMPY = ("float16", "float32", "half", "single")
TORCH = ("float16", "bfloat16", "float32", "half", "float")


TENSOR = ("float", "half", "bfloat16")

# What PyTorch's names stood for, each with what has it.
_narrow: List[Tuple[Any, str, Any]] = []


def widen() -> None:
    """In NumPy and PyTorch, as far as they are imported. Tensors made without a dtype get float64, too."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        for name in NUMPY:
            setattr(numpy, name, numpy.float64)
    if torch is not None:
        if not _narrow:
            names = [*((torch, name) for name in TORCH), *((torch.Tensor, name) for name in TENSOR)]
            _narrow.extend((of, name, getattr(of, name)) for of, name in names if hasattr(of, name))
        torch.set_default_dtype(torch.float64)
        for name in TORCH:
            setattr(torch, name, torch.float64)
        for name in TENSOR:
            setattr(torch.Tensor, name, torch.Tensor.double)


@contextlib.contextmanager
def narrowed() -> Iterator[None]:
    """PyTorch's names stand for what they did before `widen`."""
    torch = sys.modules["torch"]
    for of, name, value in _narrow:
        setattr(of, name, value)
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        widen()


def whole(value: Any) -> Any:
    """Integers, which come as float64, as the reference expects them."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.Tensor):
        return value.long()
    if numpy is not None:
        return numpy.asarray(value).astype(numpy.int64)
    return memoryview(bytes(value)).cast("d")
