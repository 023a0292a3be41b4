import type { PtxType } from './ast.ts';

const SIZE_BYTES: ReadonlyMap<PtxType, number> = new Map([
  ...(['b8', 'u8', 's8', 'e4m3', 'e5m2'] as const).map((t) => [t, 1] as const),
  ...(['b16', 'u16', 's16', 'f16', 'bf16', 'e4m3x2', 'e5m2x2'] as const).map((t) => [t, 2] as const),
  ...(['b32', 'u32', 's32', 'f32', 'tf32', 'f16x2', 'bf16x2', 'u16x2', 's16x2'] as const).map((t) => [t, 4] as const),
  ...(['b64', 'u64', 's64', 'f64', 'f32x2'] as const).map((t) => [t, 8] as const),
  ['b128', 16],
  ['texref', 8],
  ['samplerref', 8],
  ['surfref', 8],
]);

/** True for a type name, without its dot. */
export const isPtxType = (name: string): boolean => name === 'pred' || SIZE_BYTES.has(name);

/** Size of a value of `type` in memory, in bytes; 0 for `pred`. */
export const sizeOfPtxType = (type: PtxType): number => SIZE_BYTES.get(type) ?? 0;

/** Bits of a value of `type`: 1 for `pred`. */
export const bitsOfPtxType = (type: PtxType): number => (type === 'pred' ? 1 : sizeOfPtxType(type) * 8);

/** True for a signed integer type. */
export const isSigned = (type: PtxType): boolean => type.startsWith('s');

/** 32-bit registers a value of `type` occupies: 1 up to 32 bits, 2 for 64, 0 for a predicate. */
export const registersOfPtxType = (type: PtxType): number => Math.ceil(sizeOfPtxType(type) / 4);

/** Floating-point types that instructions compute in, with the elements one register holds. */
const FLOATS: ReadonlyMap<PtxType, { kind: 'fp16' | 'fp32' | 'fp64'; elements: 1 | 2 }> = new Map([
  ['f16', { kind: 'fp16', elements: 1 }],
  ['bf16', { kind: 'fp16', elements: 1 }],
  ['f16x2', { kind: 'fp16', elements: 2 }],
  ['bf16x2', { kind: 'fp16', elements: 2 }],
  ['f32', { kind: 'fp32', elements: 1 }],
  ['f32x2', { kind: 'fp32', elements: 2 }],
  ['f64', { kind: 'fp64', elements: 1 }],
]);

/** What a floating-point type computes; undefined for other types. */
export const floatOf = (type: PtxType) => FLOATS.get(type);
