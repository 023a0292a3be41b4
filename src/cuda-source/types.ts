import type { DType } from '../core/dtype.ts';
import type { CType } from './syntax.ts';

/** C's arithmetic types on 64-bit Linux. */
const DTYPES: Readonly<Record<string, DType>> = {
  float: 'f32',
  double: 'f64',
  half: 'f16',
  __half: 'f16',
  __nv_bfloat16: 'bf16',
  nv_bfloat16: 'bf16',
  bool: 'u8',
  char: 'i8',
  'signed char': 'i8',
  'unsigned char': 'u8',
  uchar: 'u8',
  short: 'i16',
  'unsigned short': 'u16',
  ushort: 'u16',
  int: 'i32',
  'unsigned int': 'u32',
  unsigned: 'u32',
  uint: 'u32',
  long: 'i64',
  'unsigned long': 'u64',
  'long long': 'i64',
  'unsigned long long': 'u64',
  size_t: 'u64',
  'std::size_t': 'u64',
  ptrdiff_t: 'i64',
  ...Object.fromEntries(
    [8, 16, 32, 64].flatMap((bits) => [
      [`int${bits}_t`, `i${bits}` as DType],
      [`uint${bits}_t`, `u${bits}` as DType],
      [`std::int${bits}_t`, `i${bits}` as DType],
      [`std::uint${bits}_t`, `u${bits}` as DType],
    ]),
  ),
};

/** The element type of a scalar C type; undefined for structs and pointers. */
export const dtypeOf = ({ base, pointers }: Pick<CType, 'base' | 'pointers'>): DType | undefined =>
  pointers === 0 ? DTYPES[base] : undefined;

/** `float4`: the scalar and how many of it. */
const VECTOR = /^(u?(?:char|short|int|long|longlong)|float|double)([1-4])$/;

/** What a vector type is made of: `float4` of four f32. */
export function vectorOf(base: string): { dtype: DType; count: number } | undefined {
  if (base === 'half2' || base === '__half2') return { dtype: 'f16', count: 2 };
  const [, scalar, count] = VECTOR.exec(base) ?? [];
  if (scalar === undefined) return undefined;
  const name = scalar.startsWith('u') ? `unsigned ${scalar.slice(1)}` : scalar;
  const dtype = DTYPES[name.replace('longlong', 'long long')];
  return dtype && { dtype, count: Number(count) };
}

const BYTES: Readonly<Record<DType, number>> = {
  f16: 2,
  bf16: 2,
  f32: 4,
  f64: 8,
  i8: 1,
  u8: 1,
  i16: 2,
  u16: 2,
  i32: 4,
  u32: 4,
  i64: 8,
  u64: 8,
};

/** Bytes of a type; undefined for what the file defines itself. */
export function sizeOfType(type: CType): number | undefined {
  if (type.pointers > 0) return 8;
  const vector = vectorOf(type.base);
  if (vector) return BYTES[vector.dtype] * vector.count;
  const dtype = dtypeOf(type);
  return dtype && BYTES[dtype];
}
