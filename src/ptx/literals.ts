import type { PtxOperand } from './ast.ts';
import type { TokenStream } from './token-stream.ts';

type Immediate = Extract<PtxOperand, { kind: 'immediate' }>;

const scratch = new DataView(new ArrayBuffer(8));

/** Bit pattern of a float64. */
export function bitsOfF64(value: number): bigint {
  scratch.setFloat64(0, value);
  return scratch.getBigUint64(0);
}

export function f64OfBits(bits: bigint): number {
  scratch.setBigUint64(0, bits);
  return scratch.getFloat64(0);
}

/** Bit pattern of the float32 nearest to a float64, by its bit pattern. */
export function f32BitsOfF64(bits: bigint): bigint {
  scratch.setFloat32(0, f64OfBits(bits));
  return BigInt(scratch.getUint32(0));
}

/** What an immediate operand is as a number of this type. Integers beyond 2^53 are rounded. */
export function numberOfBits({ type: written, value }: Immediate, type: string): number {
  if (written === 'f32-bits') {
    scratch.setUint32(0, Number(BigInt.asUintN(32, value)));
    return scratch.getFloat32(0);
  }
  if (written === 'f64-bits') return f64OfBits(BigInt.asUintN(64, value));
  const bits = Number(/\d+$/.exec(type)?.[0] ?? 64);
  return Number(type.startsWith('u') ? BigInt.asUintN(bits, value) : BigInt.asIntN(bits, value));
}

const PATTERNS: readonly [RegExp, (text: string) => Immediate][] = [
  [/^0[fF]/, (text) => ({ kind: 'immediate', type: 'f32-bits', value: BigInt(`0x${text.slice(2)}`) })],
  [/^0[dD]/, (text) => ({ kind: 'immediate', type: 'f64-bits', value: BigInt(`0x${text.slice(2)}`) })],
  [/^0[xXbB]/, (text) => integer(BigInt(text.replace('U', '')))],
  [/[.eE]/, (text) => ({ kind: 'immediate', type: 'f64-bits', value: bitsOfF64(Number(text)) })],
  [/^0[0-7]+U?$/, (text) => integer(BigInt(`0o${text.slice(1).replace('U', '')}`))],
  [/^\d+U?$/, (text) => integer(BigInt(text.replace('U', '')))],
];

const integer = (value: bigint): Immediate => ({ kind: 'immediate', type: 'integer', value: BigInt.asIntN(64, value) });

/** Value of a number token. Hex, octal, binary and decimal integers; `0f…`/`0d…` bit patterns; decimal floats. */
function literal(text: string): Immediate | undefined {
  return PATTERNS.find(([pattern]) => pattern.test(text))?.[1](text);
}

const SIGN_BIT = { 'f32-bits': 1n << 31n, 'f64-bits': 1n << 63n } as const;

/** −x. */
const negate = (value: Immediate): Immediate =>
  value.type === 'integer' ? integer(-value.value) : { ...value, value: value.value ^ SIGN_BIT[value.type] };

/** A number with any unary signs before it, or `WARP_SZ`. @throws PtxSyntaxError when there is none. */
export function parseNumber(stream: TokenStream): Immediate {
  if (stream.accept('-')) return negate(parseNumber(stream));
  if (stream.accept('+')) return parseNumber(stream);
  if (stream.at('~')) {
    stream.next();
    return integer(~parseNumber(stream).value);
  }
  if (stream.accept('WARP_SZ')) return integer(32n);
  const token = stream.expectKind('number', 'a number');
  const value = literal(token.text);
  if (!value) throw stream.errorAt(`malformed number \`${token.text}\``, token.line);
  return value;
}

/** An integer. @throws PtxSyntaxError when the next number is not one. */
export function parseInteger(stream: TokenStream): number {
  const line = stream.peek().line;
  const value = parseNumber(stream);
  if (value.type !== 'integer') throw stream.errorAt('expected an integer', line);
  return Number(value.value);
}
