"""@kernel@, candidate @candidate@: the conditions of its calls, and its launches. Written by warpsmith @version@."""
from ._numbers import @numbers@
from ._plan import @plans@

@each members@
@member@ = @value@  # parameter, baked in
@end@
ASKS_RESIDENCY = @asksResidency@


def refusal(dimensions):
    """The first condition that the call breaks, in words; None if the kernel takes it."""
    @dimensions@ = map(float, dimensions)
    @conditions@
    return None


def plan(dimensions, buffer_bytes, device):
    """Every step of a call. Raises ArithmeticError or ValueError for what no device can launch."""
    @dimensions@ = map(float, dimensions)
    @scope@
    plan = Plan(buffer_bytes, device)
    @steps@
    return plan
