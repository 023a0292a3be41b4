/** Size of a unit in the last place at `value`, for a format of `precision` bits whose least exponent is `minimum`. */
function ulpSize(value: number, precision: number, minimum: number): number {
  const magnitude = Math.abs(value);
  if (magnitude === 0) return 2 ** (minimum - precision + 1);
  let exponent = Math.floor(Math.log2(magnitude));
  if (2 ** exponent > magnitude) exponent--;
  if (2 ** (exponent + 1) <= magnitude) exponent++;
  return 2 ** (Math.max(exponent, minimum) - precision + 1);
}

interface Format {
  round: (value: number) => number;
  precision: number;
  minimum: number;
  largest: number;
}
const FORMATS = {
  f16: { round: (value) => new Float16Array([value])[0]!, precision: 11, minimum: -14, largest: 65504 },
  bf16: { round: roundToBfloat16, precision: 8, minimum: -126, largest: 3.3895313892515355e38 },
  f32: { round: Math.fround, precision: 24, minimum: -126, largest: 3.4028234663852886e38 },
  f64: { round: (value) => value, precision: 53, minimum: -1022, largest: Number.MAX_VALUE },
} satisfies Record<string, Format>;

/** Rounds to bfloat16, to nearest, ties to even. */
export function roundToBfloat16(value: number): number {
  if (!Number.isFinite(value) || value === 0) return value;
  const size = ulpSize(value, 8, -126);
  const steps = value / size; // exact: `size` is a power of two
  const below = Math.floor(steps);
  const up = steps - below > 0.5 || (steps - below === 0.5 && below % 2 !== 0);
  const rounded = (below + (up ? 1 : 0)) * size || value * 0;
  return Math.abs(rounded) > 3.3895313892515355e38 ? Math.sign(value) * Number.POSITIVE_INFINITY : rounded;
}

/**
 * Distance of `got` from the exact result `want` in units in the last place of the format. 0 for the same infinity or NaN
 * on both sides, infinite where only one side is.
 */
export function ulpError(got: number, want: number, format: keyof typeof FORMATS): number {
  const { round, precision, minimum, largest }: Format = FORMATS[format];
  if (Number.isNaN(want) || Number.isNaN(got))
    return Number.isNaN(want) && Number.isNaN(got) ? 0 : Number.POSITIVE_INFINITY;
  const rounded = round(want);
  if (Object.is(got, rounded) && !Number.isFinite(got)) return 0;
  // Overflow on one side only: count from the largest finite number's neighbour.
  const finite = (value: number) =>
    Number.isFinite(value) ? value : Math.sign(value) * (largest + ulpSize(largest, precision, minimum));
  if (!Number.isFinite(got) && Math.abs(want) < largest * 0.999999) return Number.POSITIVE_INFINITY;
  if (!Number.isFinite(want) && Math.abs(got) < largest * 0.999999) return Number.POSITIVE_INFINITY;
  return Math.abs(finite(got) - finite(want)) / ulpSize(finite(want), precision, minimum);
}

/** The place where the results are furthest from the references, for a readable failure. */
export function worstError(
  inputs: ArrayLike<number>[],
  got: ArrayLike<number>,
  want: (...inputs: number[]) => number,
  format: keyof typeof FORMATS,
): { ulps: number; at: number[]; got: number; want: number } {
  let worst = { ulps: -1, at: [] as number[], got: 0, want: 0 };
  for (let i = 0; i < got.length; i++) {
    const at = inputs.map((input) => input[i]!);
    const wanted = want(...at);
    const ulps = ulpError(got[i]!, wanted, format);
    if (ulps > worst.ulps) worst = { ulps, at, got: got[i]!, want: wanted };
  }
  return worst;
}
