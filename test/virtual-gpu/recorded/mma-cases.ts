import { drawProduct, joined, kindsOf, type ProductOperands } from './products.ts';
import type { RecordedCase } from './recorded-case.ts';

/** A form of mma.sync: D = A·B + C by one warp. */
interface MmaForm {
  readonly shape: readonly [m: number, n: number, k: number];
  /** Types of D and C, of A and of B. */
  readonly d: string;
  readonly a: string;
  readonly b: string;
  /** e.g. `.satfinite`, before the types. */
  readonly before?: string;
  /** e.g. `.xor.popc`, behind the types. */
  readonly behind?: string;
  /** A has two of every four elements, here the first and the last of them. */
  readonly isSparse?: boolean;
  readonly refusal?: RegExp;
}

const BITS: Readonly<Record<string, number>> = {
  ...{ f16: 16, bf16: 16, tf32: 32, e4m3: 8, e5m2: 8, f32: 32, f64: 64 },
  ...{ s8: 8, u8: 8, s4: 4, u4: 4, b1: 1, s32: 32 },
};

const LANES = 32;
const UNSUPPORTED = /^unsupported: .*mma\.(?:sp\.)?sync/;

const form = (shape: MmaForm['shape'], d: string, a: string, b = a, rest: Partial<MmaForm> = {}): MmaForm => ({
  ...{ shape, d, a, b },
  ...rest,
});
const unmodelled = (shape: MmaForm['shape'], d: string, a: string, b = a, rest: Partial<MmaForm> = {}): MmaForm =>
  form(shape, d, a, b, { refusal: UNSUPPORTED, ...rest });

const SIGNS = [
  ['s8', 's8'],
  ['u8', 'u8'],
  ['s8', 'u8'],
  ['u8', 's8'],
] as const;
const FLOAT8 = [
  ['e4m3', 'e4m3'],
  ['e5m2', 'e5m2'],
  ['e4m3', 'e5m2'],
  ['e5m2', 'e4m3'],
] as const;

const FORMS: readonly MmaForm[] = [
  form([16, 8, 16], 'f32', 'f16'),
  form([16, 8, 8], 'f32', 'f16'),
  form([16, 8, 16], 'f16', 'f16'),
  form([16, 8, 8], 'f16', 'f16'),
  form([16, 8, 16], 'f32', 'bf16'),
  form([16, 8, 8], 'f32', 'bf16'),
  form([16, 8, 8], 'f32', 'tf32'),
  form([16, 8, 4], 'f32', 'tf32'),
  ...SIGNS.flatMap(([a, b]) => [form([16, 8, 32], 's32', a, b), form([16, 8, 16], 's32', a, b)]),
  ...SIGNS.map(([a, b]) => form([16, 8, 32], 's32', a, b, { before: '.satfinite' })),
  unmodelled([8, 8, 16], 's32', 's8'),
  unmodelled([16, 8, 64], 's32', 's4'),
  unmodelled([16, 8, 32], 's32', 'u4', 's4'),
  unmodelled([8, 8, 32], 's32', 'u4'),
  ...['.xor.popc', '.and.popc'].flatMap((behind) => [
    unmodelled([16, 8, 256], 's32', 'b1', 'b1', { behind }),
    unmodelled([16, 8, 128], 's32', 'b1', 'b1', { behind }),
    unmodelled([8, 8, 128], 's32', 'b1', 'b1', { behind }),
  ]),
  unmodelled([8, 8, 4], 'f64', 'f64'),
  unmodelled([16, 8, 4], 'f64', 'f64'),
  unmodelled([16, 8, 8], 'f64', 'f64'),
  unmodelled([16, 8, 16], 'f64', 'f64'),
  ...FLOAT8.map(([a, b]) => form([16, 8, 32], 'f32', a, b)),
  unmodelled([16, 8, 32], 'f32', 'f16', 'f16', { isSparse: true }),
  unmodelled([16, 8, 64], 's32', 's8', 's8', { isSparse: true }),
];

/** The places in a group of four, low bits first. */
const METADATA = '0xcccccccc';

/** Registers of an operand in a lane, and their bits. */
function registersOf(type: string, elements: number): { count: number; bits: number } {
  const bits = type === 'f64' ? 64 : 32;
  return { count: (elements * BITS[type]!) / bits / LANES, bits };
}

const names = (operand: string, count: number): string[] => Array.from({ length: count }, (_, i) => `%${operand}${i}`);

function operandsOf({ shape: [m, n, k], d, a, b, isSparse }: MmaForm) {
  return {
    a: { type: a, ...registersOf(a, isSparse ? (m * k) / 2 : m * k) },
    b: { type: b, ...registersOf(b, n * k) },
    c: { type: d, ...registersOf(d, m * n) },
  };
}

const instructionOf = ({ shape: [m, n, k], d, a, b, before = '', behind = '', isSparse }: MmaForm): string =>
  `mma${isSparse ? '.sp' : ''}.sync.aligned.m${m}n${n}k${k}.row.col${before}.${d}.${a}.${b}.${d}${behind}`;

/** Loads an operand of the CTA's lane, which lies behind those before it. */
const load = (operand: string, { count, bits }: { count: number; bits: number }, at: number, stride: number): string =>
  `mad.lo.u32 %at, %cta, ${stride}, ${at}; mad.lo.u32 %at, %lane, ${(count * bits) / 8}, %at; cvt.u64.u32 %from, %at;
  add.u64 %from, %from, %in;
  ${names(operand, count)
    .map((register, i) => `ld.global.b${bits} ${register}, [%from+${(i * bits) / 8}];`)
    .join(' ')}`;

function textOf(test: MmaForm): string {
  const { a, b, c } = operandsOf(test);
  const bytesOf = ({ count, bits }: { count: number; bits: number }): number => (count * bits * LANES) / 8;
  const stride = bytesOf(a) + bytesOf(b) + bytesOf(c);
  const list = (operand: string, count: number): string => `{${names(operand, count).join(', ')}}`;
  const declare = (operand: string, { count, bits }: { count: number; bits: number }): string =>
    `.reg .${bits === 64 ? 'f64' : 'b32'} ${names(operand, count).join(', ')};`;
  return `
.version 8.4
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 in, .param .u64 out)
{
  .reg .b32 %cta, %lane, %at, %metadata; .reg .b64 %in, %out, %from;
  ${declare('a', a)} ${declare('b', b)} ${declare('c', c).replace('.b32', test.d === 'f32' ? '.f32' : '.b32')}
  ld.param.u64 %in, [in]; cvta.to.global.u64 %in, %in;
  ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out;
  mov.u32 %cta, %ctaid.x; mov.u32 %lane, %laneid; mov.b32 %metadata, ${METADATA};
  ${load('a', a, 0, stride)}
  ${load('b', b, bytesOf(a), stride)}
  ${load('c', c, bytesOf(a) + bytesOf(b), stride)}
  ${instructionOf(test)} ${list('c', c.count)}, ${list('a', a.count)}, ${list('b', b.count)}, ${list('c', c.count)}${test.isSparse ? ', %metadata, 0' : ''};
  mad.lo.u32 %at, %cta, ${bytesOf(c)}, 0; mad.lo.u32 %at, %lane, ${bytesOf(c) / LANES}, %at; cvt.u64.u32 %from, %at;
  add.u64 %from, %from, %out;
  ${names('c', c.count)
    .map((register, i) => `st.global.b${c.bits} [%from+${(i * c.bits) / 8}], ${register};`)
    .join(' ')}
  ret;
}`;
}

/** Products of each kind. */
const DRAWS = 2;

function caseOf(test: MmaForm): RecordedCase {
  const { a, b, c } = operandsOf(test);
  const sized = ({ type, count, bits }: typeof a) => ({ type, bytes: (count * bits * LANES) / 8 });
  const operands = { a: sized(a), b: sized(b), c: sized(c) };
  const sets = kindsOf(test.a).flatMap((kind) => Array.from({ length: DRAWS }, (_, draw) => ({ kind, draw })));
  const name = instructionOf(test);
  const drawn = (draw: number): ProductOperands => ({ seed: `${name} ${draw}`, ...operands });
  return {
    name,
    family: 'mma.sync',
    ptx: textOf(test),
    buffers: () => ({
      in: joined(sets.flatMap(({ kind, draw }) => drawProduct(drawn(draw), kind))),
      out: sets.length * operands.c.bytes,
    }),
    launches: [{ grid: sets.length, block: LANES, arguments: ['in', 'out'] }],
    parts: sets.map(({ kind, draw }) => ({ name: `${kind} ${draw}`, bytes: operands.c.bytes })),
    ...(test.refusal && { refusal: test.refusal }),
  };
}

export const MMA_CASES: readonly RecordedCase[] = FORMS.map(caseOf);
