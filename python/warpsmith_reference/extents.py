"""Extents of tensors as expressions of sizes, found by trying sizes. A form counts only if it gives every extent that was seen."""

import math
from typing import Callable, Dict, Optional, Sequence, Tuple

Sizes = Dict[str, int]
Seen = Sequence[Tuple[Sizes, int]]
LARGEST_STRIDE = 8


def fitted(seen: Seen, names: Sequence[str]) -> Optional[str]:
    """The expression; None if no form fits. `seen` begins with what the others differ from."""
    used = [name for name in names if influences(name, seen)]
    for form in (linear, product, strided):
        text = form(seen, used)
        if text is not None:
            return text
    return None


def influences(name: str, seen: Seen) -> bool:
    first, extent = seen[0]
    return any(value != extent and only_differs(first, sizes) == name for sizes, value in seen)


def only_differs(one: Sizes, other: Sizes) -> Optional[str]:
    """The one size that differs; None if several do."""
    names = [name for name in one if one[name] != other[name]]
    return names[0] if len(names) == 1 else None


def holds(seen: Seen, value: Callable[[Sizes], int]) -> bool:
    return all(value(sizes) == extent for sizes, extent in seen)


def linear(seen: Seen, used: Sequence[str]) -> Optional[str]:
    first, extent = seen[0]
    factors: Dict[str, int] = {}
    for name in used:
        step = next(((sizes[name], value) for sizes, value in seen if only_differs(first, sizes) == name), None)
        if step is None or (step[1] - extent) % (step[0] - first[name]) != 0:
            return None
        factors[name] = (step[1] - extent) // (step[0] - first[name])
    rest = extent - sum(factor * first[name] for name, factor in factors.items())
    if not holds(seen, lambda sizes: rest + sum(factor * sizes[name] for name, factor in factors.items())):
        return None
    terms = [name if factor == 1 else f"{factor} * {name}" for name, factor in factors.items() if factor != 0]
    if not terms:
        return str(rest)
    return " + ".join(terms) + (f" + {rest}" if rest > 0 else f" - {-rest}" if rest < 0 else "")


def product(seen: Seen, used: Sequence[str]) -> Optional[str]:
    first, extent = seen[0]
    whole = math.prod(first[name] for name in used)
    if len(used) < 2 or extent % whole != 0:
        return None
    factor = extent // whole
    if not holds(seen, lambda sizes: factor * math.prod(sizes[name] for name in used)):
        return None
    return " * ".join([*([str(factor)] if factor != 1 else []), *used])


def strided(seen: Seen, used: Sequence[str]) -> Optional[str]:
    """As of a convolution or a pool: floor((size + b) / stride)."""
    first, extent = seen[0]
    if len(used) != 1:
        return None
    name = used[0]
    for stride in range(2, LARGEST_STRIDE + 1):
        for offset in range(extent * stride - first[name], (extent + 1) * stride - first[name]):
            if all((sizes[name] + offset) // stride == value for sizes, value in seen):
                sign = f" + {offset}" if offset > 0 else f" - {-offset}" if offset < 0 else ""
                return f"floor(({name}{sign}) / {stride})"
    return None
