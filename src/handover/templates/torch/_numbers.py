"""kernel.json's expressions: real arithmetic in float64.

Whatever has no finite value (a division by zero, an overflow, a fraction where an integer is needed) raises
ArithmeticError or ValueError. Sums and products are Python's own: infinities stay infinite there, and `finite` stops them
where they could become a number again.
"""
import math
import struct

_LARGEST_INTEGER = 2**53 - 1


class NoValue(ArithmeticError):
    """An expression without a usable value."""


def finite(value):
    if value - value == 0:
        return value
    raise NoValue(f"the value is {value}")


def truth(value):
    return finite(value) != 0


def negative(value):
    # 0 - x, so that -0 never appears.
    return 0.0 - value


def divide(dividend, divisor):
    if divisor == 0:
        raise NoValue("division by zero")
    return dividend / finite(divisor)


def remainder(dividend, divisor):
    if divisor == 0:
        raise NoValue("division by zero")
    return math.fmod(finite(dividend), finite(divisor))


def ceil_div(dividend, divisor):
    # Not ceil(a / b): the remainder is exact where the quotient is rounded.
    rest = remainder(dividend, divisor)
    quotient = (dividend - rest) / divisor
    return quotient + 1.0 if rest != 0 and (rest > 0) == (divisor > 0) else quotient


def floor(value):
    return float(math.floor(value))


def ceil(value):
    return float(math.ceil(value))


def absolute(value):
    return abs(finite(value))


def log2(value):
    return math.log2(finite(value))


def sqrt(value):
    return math.sqrt(finite(value))


def power(base, exponent):
    return math.pow(finite(base), finite(exponent))


def least(*values):
    return min(map(finite, values))


def greatest(*values):
    return max(map(finite, values))


def _exact(value):
    if abs(value) <= _LARGEST_INTEGER and value == math.floor(value):
        return int(value)
    raise NoValue(f"{value} is not an integer")


def inverted(value):
    return float(~_exact(value))


def bit_or(left, right):
    return float(_exact(left) | _exact(right))


def bit_xor(left, right):
    return float(_exact(left) ^ _exact(right))


def bit_and(left, right):
    return float(_exact(left) & _exact(right))


def _shift(count):
    places = _exact(count)
    if places < 0:
        raise NoValue(f"a shift by {places}")
    return 2.0**places if places < 1024 else math.inf


def shift_left(value, count):
    return finite(_exact(value) * _shift(count))


def shift_right(value, count):
    return float(math.floor(_exact(value) / _shift(count)))


# Element types: name -> format of `struct`, significant bits and least exponent of a float, or range of an integer.
_FLOATS = {"f16": (11, -14, 65504.0), "bf16": (8, -126, 3.3895313892515355e38), "f32": (24, -126, 3.4028234663852886e38)}
_INTEGERS = {
    "i8": ("b", -(2**7), 2**7 - 1),
    "u8": ("B", 0, 2**8 - 1),
    "i16": ("h", -(2**15), 2**15 - 1),
    "u16": ("H", 0, 2**16 - 1),
    "i32": ("i", -(2**31), 2**31 - 1),
    "u32": ("I", 0, 2**32 - 1),
    # The largest float64 inside the range.
    "i64": ("q", -(2**63), 2**63 - 1024),
    "u64": ("Q", 0, 2**64 - 2048),
}


def rounded(dtype, value):
    """The nearest value of the element type: ties to even, integers saturate."""
    finite(value)
    if dtype in _INTEGERS:
        _, low, high = _INTEGERS[dtype]
        return float(min(high, max(low, round(value))))
    if dtype == "f64" or value == 0:
        return float(value)
    bits, least_exponent, largest = _FLOATS[dtype]
    exponent = max(math.frexp(value)[1] - 1, least_exponent) - (bits - 1)
    nearest = math.ldexp(float(round(math.ldexp(value, -exponent))), exponent)
    if abs(nearest) > largest:
        raise NoValue(f"{value} is beyond {dtype}")
    return nearest


def packed(dtype, value):
    """The bytes of a kernel's argument, little-endian; integers must fit exactly."""
    nearest = rounded(dtype, value)
    if dtype in _INTEGERS:
        if nearest != value:
            raise NoValue(f"{value} is not a value of {dtype}")
        return struct.pack("<" + _INTEGERS[dtype][0], int(nearest))
    if dtype == "bf16":
        return struct.pack("<f", nearest)[2:]
    return struct.pack({"f16": "<e", "f32": "<f", "f64": "<d"}[dtype], nearest)


def integer(value, place, low, high):
    """An integer of a range, out of an expression; `place` is the path in kernel.json and the expression's text."""
    if abs(finite(value)) <= _LARGEST_INTEGER and value == math.floor(value) and low <= value <= high:
        return int(value)
    raise NoValue(f"{place} is {value:.15g}; expected an integer from {low} to {high}")


def broken(text, values, hint=None):
    """Why a condition refuses a call, with the values of the names in it, and what to do."""
    shown = ", ".join(f"{name} = {value:.15g}" for name, value in values)
    return text + (f" ({shown})" if shown else "") + (f"; {hint}" if hint else "")
