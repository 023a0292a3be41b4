import { kernelText, loadShared, POINTER } from '../hopper/ptx.ts';
import { drawProduct, joined, kindsOf } from './products.ts';
import type { RecordedCase } from './recorded-case.ts';

type Swizzle = 0 | 32 | 64 | 128;

/** A form of wgmma.mma_async, and where its operands lie. */
interface WgmmaForm {
  readonly n: number;
  readonly d: 'f32' | 'f16' | 's32';
  readonly a: string;
  readonly b: string;
  readonly from?: 'registers';
  /** Bytes of a swizzled row. */
  readonly swizzle?: Swizzle;
  /** M-major A, N-major B. */
  readonly isAcross?: { readonly a?: boolean; readonly b?: boolean };
  readonly signs?: readonly [a: 1 | -1, b: 1 | -1];
  /** D = A·B. */
  readonly dropsC?: boolean;
  readonly isSaturated?: boolean;
  /** Bytes behind the beginning of both operands, as the next slice of K has it. */
  readonly advance?: number;
  /** Products in a row onto one accumulator. */
  readonly steps?: number;
  /** Only operands near one: what is asked for is where elements lie. */
  readonly isOfLayout?: boolean;
  readonly refusal?: RegExp;
}

const THREADS = 128;
const M = 64;
/** Bytes of a row of A or column of B along K. */
const K_BYTES = 32;
const MODE = { 0: 0n, 128: 1n, 64: 2n, 32: 3n } as const;
const BITS: Readonly<Record<string, number>> = { f16: 16, bf16: 16, tf32: 32, e4m3: 8, e5m2: 8, s8: 8, u8: 8, b1: 1 };
const UNSUPPORTED = /^unsupported: .*wgmma\.mma_async/;

const depthOf = ({ a }: WgmmaForm): number => (K_BYTES * 8) / BITS[a]!;

/** All of a descriptor but the address. Layouts: PTX ISA, matrix descriptors. */
function descriptorOf(swizzle: Swizzle, mn: number, isAcross: boolean): bigint {
  const atom = 8 * Math.max(swizzle, 16);
  // Elements across K have two bytes: two groups of eight rows.
  const [leading, stride] = isAcross
    ? swizzle === 0
      ? [atom, 2 * atom]
      : [2 * atom, atom]
    : [swizzle === 0 ? (mn / 8) * atom : 16, atom];
  return (BigInt(leading >> 4) << 16n) | (BigInt(stride >> 4) << 32n) | (MODE[swizzle] << 62n);
}

/** Space of operands, whatever their layout: whole atoms. */
const operandBytes = (mn: number, swizzle: Swizzle): number =>
  Math.ceil((mn * Math.max(swizzle, K_BYTES)) / 1024) * 1024;

function sizesOf({ n, d, swizzle = 0, steps = 1 }: WgmmaForm) {
  const a = operandBytes(M, swizzle) * steps;
  const b = operandBytes(n, swizzle) * steps;
  const registers = d === 'f16' ? n / 4 : n / 2;
  return { a, b, registers, c: registers * 4 * THREADS };
}

function instructionOf(test: WgmmaForm): string {
  const { n, d, a, b, isSaturated } = test;
  const popc = a === 'b1' ? '.and.popc' : '';
  return `wgmma.mma_async.sync.aligned.m64n${n}k${depthOf(test)}.${d}.${a}.${b}${popc}${isSaturated ? '.satfinite' : ''}`;
}

/** What follows the operands: whether C counts, signs, and which way the operands lie. */
function flagsOf({ d, a, from, isAcross = {}, signs = [1, 1] }: WgmmaForm): string {
  if (d === 's32') return '%keeps';
  const isHalf = a === 'f16' || a === 'bf16';
  const across = [...(from === 'registers' ? [] : [isAcross.a]), isAcross.b].map((is) => (is ? 1 : 0));
  return ['%keeps', ...signs, ...(isHalf ? across : [])].join(', ');
}

function bodyOf(test: WgmmaForm): string {
  const { n, from, swizzle = 0, isAcross = {}, advance = 0, steps = 1, dropsC } = test;
  const { a, b, registers, c } = sizesOf(test);
  const accumulators = Array.from({ length: registers }, (_, i) => `%c${i}`);
  const image = a + b;
  const step = (i: number): string => `
  add.u32 %r11, %r10, ${(a / steps) * i + advance}; shr.u32 %r11, %r11, 4; cvt.u64.u32 %rd10, %r11;
  or.b64 %rd10, %rd10, 0x${descriptorOf(swizzle, M, isAcross.a ?? false).toString(16)};
  add.u32 %r11, %r10, ${a + (b / steps) * i + advance}; shr.u32 %r11, %r11, 4; cvt.u64.u32 %rd11, %r11;
  or.b64 %rd11, %rd11, 0x${descriptorOf(swizzle, n, isAcross.b ?? false).toString(16)};
  ${instructionOf(test)} {${accumulators.join(', ')}}, ${from === 'registers' ? '{%a0, %a1, %a2, %a3}' : '%rd10'}, %rd11, ${flagsOf(test)};`;
  return `
  .reg .b32 %a<4>; .reg .${test.d === 'f32' ? 'f32' : 'b32'} %c<${registers}>; .reg .pred %keeps;
  ${loadShared(image, THREADS, image + c)}
  mov.u32 %r10, smem; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;
  ld.param.u64 %rd1, [in]; cvta.to.global.u64 %rd1, %rd1;
  mad.wide.u32 %rd1, %r1, ${image + c}, %rd1; mad.wide.u32 %rd1, %r0, ${registers * 4}, %rd1;
  ${accumulators.map((name, i) => `ld.global.b32 ${name}, [%rd1+${image + i * 4}];`).join(' ')}
  shl.b32 %r2, %r0, 4; add.u32 %r2, %r2, %r10;
  ld.shared.v4.b32 {%a0, %a1, %a2, %a3}, [%r2];
  setp.ne.u32 %keeps, ${dropsC ? 0 : 1}, 0;
  wgmma.fence.sync.aligned;
  ${Array.from({ length: steps }, (_, i) => step(i)).join('')}
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  ld.param.u64 %rd2, [out]; cvta.to.global.u64 %rd2, %rd2;
  mad.wide.u32 %rd2, %r1, ${c}, %rd2; mad.wide.u32 %rd2, %r0, ${registers * 4}, %rd2;
  ${accumulators.map((name, i) => `st.global.b32 [%rd2+${i * 4}], ${name};`).join(' ')}`;
}

function nameOf(test: WgmmaForm): string {
  const { from, swizzle, isAcross = {}, signs, dropsC, advance, steps } = test;
  const details = [
    ...(from ? [`A from ${from}`] : []),
    ...(swizzle === undefined ? [] : [`swizzle ${swizzle}`]),
    ...(isAcross.a ? ['M-major A'] : []),
    ...(isAcross.b ? ['N-major B'] : []),
    ...(signs ? [`signs ${signs.join(' ')}`] : []),
    ...(dropsC ? ['without C'] : []),
    ...(advance ? [`${advance} bytes on`] : []),
    ...(steps ? [`${steps} steps`] : []),
  ];
  return [instructionOf(test), ...details].join(', ');
}

function caseOf(test: WgmmaForm): RecordedCase {
  const { a, b, c } = sizesOf(test);
  const kinds = test.isOfLayout ? kindsOf(test.a).slice(0, 1) : kindsOf(test.a);
  const name = nameOf(test);
  const operands = {
    seed: name,
    ...{ a: { type: test.a, bytes: a }, b: { type: test.b, bytes: b }, c: { type: test.d, bytes: c } },
  };
  return {
    name,
    family: 'wgmma',
    ptx: kernelText({ parameters: [POINTER('in'), POINTER('out')], body: bodyOf(test) }),
    buffers: () => ({
      in: joined(kinds.flatMap((kind) => drawProduct(operands, kind))),
      out: kinds.length * c,
    }),
    launches: [{ grid: kinds.length, block: THREADS, dynamicSharedBytes: a + b, arguments: ['in', 'out'] }],
    parts: kinds.map((kind) => ({ name: kind, bytes: c })),
    ...(test.isOfLayout && { shownBytes: 512 }),
    ...(test.refusal && { refusal: test.refusal }),
  };
}

const FLOAT8 = ['e4m3', 'e5m2'].flatMap((a) => ['e4m3', 'e5m2'].map((b) => ({ a, b })));
const INTEGERS = ['s8', 'u8'].flatMap((a) => ['s8', 'u8'].map((b) => ({ a, b })));
const unmodelled = { refusal: UNSUPPORTED } as const;
const f16 = { d: 'f32', a: 'f16', b: 'f16' } as const;
const bf16 = { d: 'f32', a: 'bf16', b: 'bf16' } as const;
const tf32 = { d: 'f32', a: 'tf32', b: 'tf32' } as const;
const s8 = { d: 's32', a: 's8', b: 's8' } as const;

/** How they add. */
const SUMS: readonly WgmmaForm[] = [
  ...[f16, { ...f16, d: 'f16' as const }, bf16, tf32].map((types) => ({ n: 8, ...types })),
  { n: 8, ...f16, from: 'registers' },
  { n: 8, ...bf16, steps: 2 },
  { n: 8, ...f16, d: 'f16', steps: 2 },
  { n: 8, ...f16, signs: [-1, 1] },
  { n: 8, ...tf32, signs: [1, -1] },
  ...FLOAT8.flatMap((types) => (['f32', 'f16'] as const).map((d): WgmmaForm => ({ n: 8, d, ...types }))),
  { n: 8, d: 'f32', a: 'e4m3', b: 'e4m3', steps: 2 },
  ...INTEGERS.map((types): WgmmaForm => ({ n: 8, d: 's32', ...types })),
  ...INTEGERS.map((types): WgmmaForm => ({ n: 8, d: 's32', ...types, isSaturated: true })),
  { n: 8, d: 's32', a: 'b1', b: 'b1', ...unmodelled },
];

const SWIZZLES = [0, 32, 64, 128] as const;

/** Where elements lie. */
const LAYOUTS: readonly WgmmaForm[] = [
  ...SWIZZLES.flatMap((swizzle): WgmmaForm[] => [
    ...[f16, bf16, tf32, s8].map((types) => ({ n: 64, ...types, swizzle })),
    { n: 128, ...f16, swizzle, isAcross: { a: true, b: true } },
    { n: 64, ...f16, swizzle, isAcross: { a: true } },
    { n: 64, ...bf16, swizzle, isAcross: { b: true }, from: 'registers' },
    { n: 64, d: 'f32', a: 'e4m3', b: 'e5m2', swizzle },
  ]),
  ...[24, 96, 128, 256].map((n): WgmmaForm => ({ n, ...f16, swizzle: 128 })),
  ...[16, 96, 256].map((n): WgmmaForm => ({ n, ...s8, swizzle: 128 })),
  ...[40, 200].map((n): WgmmaForm => ({ n, ...bf16 })),
  ...[32, 64, 96].map((advance): WgmmaForm => ({ n: 64, ...f16, swizzle: 128, advance })),
  { n: 64, ...bf16, swizzle: 64, advance: 32 },
  { n: 32, ...f16, d: 'f16', swizzle: 128 },
  { n: 32, ...tf32, from: 'registers', swizzle: 64 },
  { n: 32, ...s8, from: 'registers' },
  { n: 32, ...f16, signs: [-1, -1] },
  { n: 32, ...f16, dropsC: true },
  { n: 32, ...s8, dropsC: true },
  { n: 32, ...f16, d: 'f16', dropsC: true, signs: [-1, 1] },
].map((test): WgmmaForm => ({ ...test, isOfLayout: true }) as WgmmaForm);

export const WGMMA_CASES: readonly RecordedCase[] = [...SUMS, ...LAYOUTS].map(caseOf);
