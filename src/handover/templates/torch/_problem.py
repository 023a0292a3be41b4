"""@problem@: its tensors, its dimensions, and which kernel takes a call. Written by warpsmith @version@."""
from . import _sizes as sizes
from ._checks import Dimension, Tensor
@if numbers@
from ._numbers import @numbers@
@end@
@if entries@
from ._runtime import Entry
@end@

NAME = @name@
NAMES = @names@
DIMENSIONS = (
    Dimension(@declarations@),
)
OPERANDS = (
    Tensor(@operands@),
)
RESULTS = (
    Tensor(@results@),
)
# Dimensions that strides tell if nobody gives them: (index, values in the order in which they are tried).
TOLD = (@told@)

# The dispatch table: dimensions that must be an entry's own, dimensions of which the distance counts, and the entries.
CATEGORICAL = @categorical@
MEASURED = @measured@
@if entries@
ENTRIES = (
    Entry(@entries@),
)
@else@
ENTRIES = ()
@end@
FALLBACK = @fallback@


def bind(shapes, given):
    """All dimensions in order: of the shapes, as given, or their defaults."""
    @shapeNames@ = shapes
    @givenNames@
    @bindings@
    return @values@


def operand_shapes(dimensions):
    @values@ = dimensions
    return (
        @operandShapes@,
    )


def operand_strides(dimensions):
    """In elements."""
    @values@ = dimensions
    return (
        @operandStrides@,
    )


def results(dimensions):
    """Whether each result is wanted, its shape and its strides."""
    @values@ = dimensions
    return (
        @resultLayouts@,
    )


def refusal(dimensions):
    """The first limit that the call breaks, in words; None if the problem is defined for it."""
    @values@ = map(float, dimensions)
    @conditions@
    return None
