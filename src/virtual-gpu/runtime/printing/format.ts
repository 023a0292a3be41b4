import { exponentText, fixedText, generalText, hexadecimalText } from './decimal.ts';

/** The arguments of one call, in order, as C passes them to a function with `...`. */
export interface PrintArguments {
  /** Four bytes. */
  word(): number;
  /** Eight bytes. */
  double(): bigint;
  /** Text up to its NUL, and of at most so many bytes; undefined at address 0. */
  text(address: bigint, mostBytes: number | undefined): string | undefined;
}

/** A printable character of ASCII, or beyond it. Others could move a terminal's cursor. */
const UNPRINTABLE = /[^\P{Cc}\n\t]/gu;

const escaped = (character: string): string => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;

/** The text without characters that are not to be printed. */
export const printable = (text: string): string => text.replace(UNPRINTABLE, escaped);

interface Specifier {
  readonly flags: string;
  readonly width: number;
  /** Undefined: the conversion's own. */
  readonly precision: number | undefined;
  readonly size: string;
  readonly conversion: string;
}

/** Arguments beyond these are ignored, and their specifiers printed as they are. Source: CUDA C++ Programming Guide. */
const MOST_ARGUMENTS = 32;

/** Wider fields and more digits are cut: they would print nothing but blanks and zeros. */
const MOST_CHARACTERS = 512;

const SPECIFIER = /%([-+ #0]*)(\*|\d*)(?:\.(\*|\d*))?(hh|h|ll|l|[jztL])?([diouxXcspfFeEgGaA%])/g;

/**
 * What a call of printf prints, and the number of arguments that it took: what printf returns on a device. Of flags, width,
 * precision, size and conversion, all that C has but `%n`. A specifier that is none is printed as it is.
 *
 * @param isWanted whether the text is; if not, the arguments are only read.
 */
export function formatPrintf(format: string, values: PrintArguments, isWanted = true): { text: string; count: number } {
  let count = 0;
  const star = (field: string | undefined): number | undefined => {
    if (field !== '*') return field === undefined ? undefined : Number(field);
    count++;
    return values.word() | 0;
  };
  const text = format.replace(SPECIFIER, (whole, flags: string, width, precision, size = '', conversion: string) => {
    if (conversion === '%') return '%';
    const taken = [width, precision].filter((field) => field === '*').length + 1;
    if (count + taken > MOST_ARGUMENTS) return whole;
    const wide = star(width || '0')!;
    const precise = star(precision);
    count++;
    const specifier: Specifier = {
      flags: wide < 0 ? `${flags}-` : flags,
      width: Math.min(Math.abs(wide), MOST_CHARACTERS),
      precision: precise === undefined || precise < 0 ? undefined : Math.min(precise, MOST_CHARACTERS),
      ...{ size, conversion },
    };
    return isWanted ? convert(specifier, values) : skip(specifier, values);
  });
  return { text, count };
}

const WIDE = /[spfFeEgGaA]/;

/** Reads what the conversion reads. */
function skip({ conversion, precision, size }: Specifier, values: PrintArguments): string {
  if (!WIDE.test(conversion) && (conversion === 'c' || BITS[size] !== 64)) values.word();
  else if (conversion === 's') values.text(values.double(), precision);
  else values.double();
  return '';
}

function convert(specifier: Specifier, values: PrintArguments): string {
  const { conversion, precision } = specifier;
  switch (conversion) {
    case 'c':
      return padded(specifier, '', printable(String.fromCharCode(values.word() & 0xff)));
    case 's': {
      const text = values.text(values.double(), precision) ?? '(null)';
      return padded(specifier, '', precision === undefined ? text : text.slice(0, precision));
    }
    case 'p': {
      const address = values.double();
      return padded(specifier, '', address === 0n ? '(nil)' : `0x${address.toString(16)}`);
    }
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      return integerText(specifier, values);
    default:
      return floatText(specifier, values);
  }
}

const BITS: Readonly<Record<string, number>> = { hh: 8, h: 16, '': 32, L: 64, l: 64, ll: 64, j: 64, z: 64, t: 64 };

const BASES: Readonly<Record<string, number>> = { d: 10, i: 10, u: 10, o: 8, x: 16, X: 16 };

function integerText(specifier: Specifier, values: PrintArguments): string {
  const { conversion, flags, size, precision } = specifier;
  const bits = BITS[size]!;
  const raw = bits === 64 ? values.double() : BigInt(values.word());
  const isSigned = conversion === 'd' || conversion === 'i';
  const value = isSigned ? BigInt.asIntN(bits, raw) : BigInt.asUintN(bits, raw);
  const magnitude = value < 0n ? -value : value;
  const plain = value === 0n && precision === 0 ? '' : magnitude.toString(BASES[conversion]!);
  const isMarked = flags.includes('#');
  const least =
    isMarked && conversion === 'o' ? Math.max(precision ?? 1, plain.replace(/^0+/, '').length + 1) : precision;
  const digits = plain.padStart(least ?? 1, '0');
  const prefix = isMarked && BASES[conversion] === 16 && value !== 0n ? '0x' : '';
  // A precision takes the place of the flag 0.
  const own = precision === undefined ? specifier : { ...specifier, flags: flags.replaceAll('0', '') };
  const text = padded(own, `${isSigned ? signOf(value < 0n, flags) : ''}${prefix}`, digits, true);
  return conversion === 'X' ? text.toUpperCase() : text;
}

const asDouble = (bits: bigint): number => new Float64Array(BigUint64Array.of(bits).buffer)[0]!;

function floatText(specifier: Specifier, values: PrintArguments): string {
  const { conversion, flags, precision } = specifier;
  const bits = values.double();
  const value = asDouble(bits);
  const sign = signOf(bits >> 63n === 1n, flags);
  const isNumber = Number.isFinite(value);
  const digits = isNumber
    ? finiteText(conversion.toLowerCase(), value, precision, flags.includes('#'))
    : Number.isNaN(value)
      ? 'nan'
      : 'inf';
  const prefix = digits.startsWith('0x') ? '0x' : '';
  const text = padded(specifier, sign + prefix, digits.slice(prefix.length), isNumber);
  return conversion === conversion.toUpperCase() ? text.toUpperCase() : text;
}

function finiteText(conversion: string, value: number, precision: number | undefined, isMarked: boolean): string {
  switch (conversion) {
    case 'f':
      return fixedText(value, precision ?? 6, isMarked);
    case 'e':
      return exponentText(value, precision ?? 6, isMarked);
    case 'g':
      return generalText(value, precision ?? 6, isMarked);
    default:
      return hexadecimalText(value, precision, isMarked);
  }
}

function signOf(isNegative: boolean, flags: string): string {
  if (isNegative) return '-';
  if (flags.includes('+')) return '+';
  return flags.includes(' ') ? ' ' : '';
}

/** @param isNumber whether the flag 0 fills with zeros, behind the prefix. */
function padded({ flags, width }: Specifier, prefix: string, text: string, isNumber = false): string {
  const missing = width - prefix.length - text.length;
  if (missing <= 0) return prefix + text;
  if (flags.includes('-')) return prefix + text + ' '.repeat(missing);
  if (isNumber && flags.includes('0')) return prefix + '0'.repeat(missing) + text;
  return ' '.repeat(missing) + prefix + text;
}
