/** Conversions of doubles as C's printf makes them: from the exact value, rounded to nearest, ties to even. */

const MANTISSA_BITS = 52n;
const BIAS = 1075;

/** |value| = mantissa · 2^exponent, exactly. */
function parts(value: number): { mantissa: bigint; exponent: number } {
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0]!;
  const field = Number((bits >> MANTISSA_BITS) & 0x7ffn);
  const fraction = bits & ((1n << MANTISSA_BITS) - 1n);
  return field === 0
    ? { mantissa: fraction, exponent: 1 - BIAS }
    : { mantissa: fraction | (1n << MANTISSA_BITS), exponent: field - BIAS };
}

function roundedQuotient(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twice = 2n * (numerator % denominator);
  return twice > denominator || (twice === denominator && (quotient & 1n) === 1n) ? quotient + 1n : quotient;
}

/** |value| · 10^decimals, as a whole number. */
function scaled(value: number, decimals: number): bigint {
  const { mantissa, exponent } = parts(value);
  const up = (decimals >= 0 ? 10n ** BigInt(decimals) : 1n) * (exponent >= 0 ? 1n << BigInt(exponent) : 1n);
  const down = (decimals < 0 ? 10n ** BigInt(-decimals) : 1n) * (exponent < 0 ? 1n << BigInt(-exponent) : 1n);
  return roundedQuotient(mantissa * up, down);
}

const withPoint = (whole: string, fraction: string, keepsPoint: boolean): string =>
  fraction === '' && !keepsPoint ? whole : `${whole}.${fraction}`;

/** `%f` of |value|. */
export function fixedText(value: number, decimals: number, keepsPoint: boolean): string {
  const digits = scaled(value, decimals)
    .toString()
    .padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  return withPoint(whole, digits.slice(whole.length), keepsPoint);
}

/** The digits of |value| in scientific notation, and the power of ten of the first. */
function scientific(value: number, decimals: number): { digits: string; exponent: number } {
  if (value === 0) return { digits: '0'.repeat(decimals + 1), exponent: 0 };
  let exponent = Math.floor(Math.log10(Math.abs(value)));
  for (;;) {
    const digits = scaled(value, decimals - exponent).toString();
    if (digits.length === decimals + 1) return { digits, exponent };
    exponent += digits.length > decimals + 1 ? 1 : -1;
  }
}

const signed = (exponent: number, leastDigits: number): string =>
  `${exponent < 0 ? '-' : '+'}${Math.abs(exponent).toString().padStart(leastDigits, '0')}`;

/** `%e` of |value|. */
export function exponentText(value: number, decimals: number, keepsPoint: boolean): string {
  const { digits, exponent } = scientific(value, decimals);
  return `${withPoint(digits[0]!, digits.slice(1), keepsPoint)}e${signed(exponent, 2)}`;
}

/** `%g` of |value|: the shorter of the two, without zeros at the end unless they are to be kept. */
export function generalText(value: number, precision: number, keepsZeros: boolean): string {
  const significant = Math.max(1, precision);
  const { exponent } = scientific(value, significant - 1);
  const isFixed = exponent >= -4 && exponent < significant;
  const text = isFixed
    ? fixedText(value, significant - 1 - exponent, keepsZeros)
    : exponentText(value, significant - 1, keepsZeros);
  return keepsZeros ? text : text.replace(/\.?0+(?=e|$)/, (zeros) => (text.includes('.') ? '' : zeros));
}

/** `%a` of |value|, as glibc writes it: one digit before the point, 0 for subnormal numbers. */
export function hexadecimalText(value: number, decimals: number | undefined, keepsPoint: boolean): string {
  const { mantissa, exponent } = parts(value);
  const power = value === 0 ? 0 : exponent + Number(MANTISSA_BITS);
  const kept =
    decimals !== undefined && decimals < 13
      ? roundedQuotient(mantissa, 1n << BigInt(52 - 4 * decimals)) << BigInt(52 - 4 * decimals)
      : mantissa;
  const fraction = (kept & ((1n << MANTISSA_BITS) - 1n)).toString(16).padStart(13, '0');
  const shown =
    decimals === undefined ? fraction.replace(/0+$/, '') : fraction.padEnd(decimals, '0').slice(0, decimals);
  return `0x${withPoint((kept >> MANTISSA_BITS).toString(16), shown, keepsPoint)}p${signed(power, 1)}`;
}
