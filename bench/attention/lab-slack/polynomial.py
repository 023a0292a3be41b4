"""How far the polynomial's weights are from 2^x, in the kernel's float32 arithmetic, and what extremes give. Needs numpy.

python3 polynomial.py
"""
import numpy as np

f32 = np.float32
LOWEST, POWERS, WHOLE = f32(-125), f32(240), f32(12582912)
C3, C2, C1 = f32(0.05500893), f32(0.24221096), f32(0.69328293)


def fma(a, b, c):
    """Rounded once but for ties of the double, as good as never."""
    with np.errstate(all='ignore'):
        return (np.float64(a) * np.float64(b) + np.float64(c)).astype(f32)


def saturate(x):
    """PTX: NaN becomes 0."""
    return np.where(np.isnan(x), f32(0), np.clip(x, f32(0), f32(1))).astype(f32)


def weight(score, scale, maximum):
    """exp2_by_polynomial of place_of_power, as in kernel.cu."""
    score = np.asarray(score, f32)
    step = f32(f32(scale) / POWERS)
    shift = fma(-f32(maximum), step, -LOWEST / POWERS)
    t = saturate(fma(score, step, shift))
    whole = fma(t, POWERS, WHOLE + LOWEST)
    rest = fma(t, POWERS, (WHOLE + LOWEST) - whole)
    power = fma(fma(fma(C3, rest, C2), rest, C1), rest, f32(1))
    bits = power.view(np.uint32) + (whole.view(np.uint32) << np.uint32(23))
    return bits.astype(np.uint32).view(f32), np.abs(rest).max()


if __name__ == '__main__':
    for head_dim in (64, 128):
        scale = f32(head_dim ** -0.5 * 1.4426950408889634)
        for maximum in (0.0, 5.0, -300.0, 4000.0, 60000.0):
            x = np.linspace(-24, 15, 2_000_001)
            score = (maximum + x / np.float64(scale)).astype(f32)
            got, rest = weight(score, scale, maximum)
            want = np.exp2((np.float64(score) - maximum) * np.float64(scale))
            error = np.abs(got / want - 1).max()
            print(f'D {head_dim}, maximum {maximum:>8}: largest relative error {error:.3e}, largest |rest| {rest:.6f}')
    scale = f32(0.125 * 1.4426950408889634)
    cases = [-np.inf, -1e30, -3e38, 0.0, 1e30, 3e38, np.inf, np.nan]
    for maximum in (0.0, -1e30, 1e30):
        print(f'maximum {maximum}:', *(f'{s} -> {weight([s], scale, maximum)[0][0]:.9g}' for s in cases))
    x = np.arange(-124, 115)
    got, _ = weight(x / np.float64(scale), scale, 0.0)
    print(f'whole powers -124 to 114: largest relative error {np.abs(got / np.exp2(x.astype(np.float64)) - 1).max():.3e}')
    print(f'2^0 is {weight([0.0], scale, 0.0)[0][0]:.9g}; the clamps give 2^-125 = {2.0 ** -125:.9g} and 2^115 = {2.0 ** 115:.9g}')
