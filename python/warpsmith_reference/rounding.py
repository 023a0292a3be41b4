"""`round`, as references call it: on a number, a NumPy array or a torch tensor, all in float64.

Gives the same bits as warpsmith's own rounding (src/core/rounding.ts).
"""

import math
import sys
from typing import Any, Callable, Dict, Optional, Tuple

Round = Callable[..., Any]

# dtype: significant bits, exponent of the least normal number, largest finite value.
FLOATS: Dict[str, Tuple[int, int, float]] = {
    "f16": (11, -14, 65504.0),
    "bf16": (8, -126, 2.0**128 - 2.0**120),
    "f32": (24, -126, 2.0**128 - 2.0**104),
}
# dtype: least and largest value that float64 holds.
INTEGERS: Dict[str, Tuple[float, float]] = {
    **{f"i{bits}": (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1) for bits in (8, 16, 32)},
    **{f"u{bits}": (0.0, 2.0**bits - 1) for bits in (8, 16, 32)},
    "i64": (-(2.0**63), 2.0**63 - 1024),
    "u64": (0.0, 2.0**64 - 2048),
}


def rounder_for(rounding: Any) -> Round:
    """What `round` does in a run: nothing, rounding to a dtype or to significant bits, or rounding of named results."""
    if isinstance(rounding, str):
        rule = rule_of(rounding)
        return lambda value, name=None: value if rule is None else apply(rule, value)
    if "significantBits" in rounding:
        splitter = 2.0 ** (53 - rounding["significantBits"]) + 1
        return lambda value, name=None: apply(lambda numbers, lib: leading_bits(numbers, lib, splitter), value)
    rules = {name: rule_of(dtype) for name, dtype in rounding["named"].items()}

    def round_named(value: Any, name: Optional[str] = None) -> Any:
        rule = rules.get(name)  # type: ignore[arg-type]
        return value if rule is None else apply(rule, value)

    return round_named


def rule_of(dtype: str) -> Optional[Callable[[Any, Any], Any]]:
    if dtype in ("exact", "f64"):
        return None
    if dtype in FLOATS:
        return lambda numbers, lib: to_float(numbers, lib, *FLOATS[dtype])
    return lambda numbers, lib: to_integer(numbers, lib, *INTEGERS[dtype])


def apply(rule: Callable[[Any, Any], Any], value: Any) -> Any:
    """The rule on a number, an array or a tensor, which it returns as it came."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return torch.as_tensor(rule(value.detach().numpy(), sys.modules["numpy"]))
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        with numpy.errstate(all="ignore"):
            return rule(value, numpy)
    return rule(float(value), Numbers)


class Numbers:
    """The functions of NumPy that rules use, on single numbers."""

    frexp = staticmethod(math.frexp)
    ldexp = staticmethod(math.ldexp)
    inf = math.inf

    @staticmethod
    def rint(value: float) -> float:
        return math.copysign(float(round(value)), value) if math.isfinite(value) else value

    @staticmethod
    def isfinite(value: float) -> bool:
        return math.isfinite(value)

    @staticmethod
    def isnan(value: float) -> bool:
        return math.isnan(value)

    @staticmethod
    def where(condition: bool, yes: float, no: float) -> float:
        return yes if condition else no

    @staticmethod
    def maximum(left: Any, right: Any) -> Any:
        return max(left, right)

    @staticmethod
    def minimum(left: float, right: float) -> float:
        return min(left, right)

    @staticmethod
    def copysign(size: float, sign: float) -> float:
        return math.copysign(size, sign)


def to_float(numbers: Any, lib: Any, bits: int, least_exponent: int, largest: float) -> Any:
    """The nearest value of the format, ties to even; beyond the largest, infinity."""
    _, exponent = lib.frexp(numbers)
    unit = lib.ldexp(1.0, lib.maximum(exponent - 1, least_exponent) - (bits - 1))
    rounded = lib.rint(numbers / unit) * unit
    return lib.where(abs(rounded) > largest, lib.copysign(lib.inf, rounded), rounded)


def to_integer(numbers: Any, lib: Any, least: float, largest: float) -> Any:
    whole = lib.minimum(lib.maximum(lib.rint(numbers), least), largest)
    return lib.where(lib.isnan(numbers), 0.0, whole) + 0.0


def leading_bits(numbers: Any, lib: Any, splitter: float) -> Any:
    """Veltkamp's splitting: the product and the difference round away all but the leading bits."""
    scaled = numbers * splitter
    return lib.where(lib.isfinite(scaled), scaled - (scaled - numbers), numbers)
