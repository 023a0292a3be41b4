"""problem.json's expressions over sizes, in integers.

The functions are those of `_numbers`, but integers stay integers, so that the symbolic sizes of torch.compile go through
them: a shape that was traced once serves every size.
"""
import math


def truth(value):
    return value != 0


def negative(value):
    return 0 - value


def divide(dividend, divisor):
    return dividend // divisor if dividend % divisor == 0 else dividend / divisor


def remainder(dividend, divisor):
    return dividend % divisor if dividend >= 0 and divisor > 0 else math.fmod(dividend, divisor)


def ceil_div(dividend, divisor):
    return -(-dividend // divisor)


def floor(value):
    return value // 1


def ceil(value):
    return -(-value // 1)


def absolute(value):
    return abs(value)


def log2(value):
    return math.log2(value)


def sqrt(value):
    return math.sqrt(value)


def power(base, exponent):
    return base**exponent


def least(*values):
    return min(values)


def greatest(*values):
    return max(values)


def inverted(value):
    return -value - 1


def bit_or(left, right):
    return int(left) | int(right)


def bit_xor(left, right):
    return int(left) ^ int(right)


def bit_and(left, right):
    return int(left) & int(right)


def shift_left(value, count):
    return value * 2 ** int(count)


def shift_right(value, count):
    return value // 2 ** int(count)


def size(value):
    """A length or stride out of an expression."""
    if not isinstance(value, (bool, float)):
        return value
    if value == math.floor(value):
        return int(value)
    raise ArithmeticError(f"{value} is not a size")


def dense(shape):
    """Strides of a row-major tensor, in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step = step * extent
    return tuple(reversed(strides))
