import { DTYPES, type DType, sizeOfDType } from '../core/dtype.ts';
import type { CType } from './syntax.ts';

/** C's arithmetic types on 64-bit Linux. */
const NAMES: Readonly<Record<DType, string>> = {
  f32: 'float',
  f64: 'double',
  f16: 'half, __half',
  bf16: '__nv_bfloat16, nv_bfloat16',
  u8: 'bool, unsigned char, uchar, uint8_t, std::uint8_t',
  i8: 'char, signed char, int8_t, std::int8_t',
  i16: 'short, int16_t, std::int16_t',
  u16: 'unsigned short, ushort, uint16_t, std::uint16_t',
  i32: 'int, int32_t, std::int32_t',
  u32: 'unsigned int, unsigned, uint, uint32_t, std::uint32_t',
  i64: 'long, long long, ptrdiff_t, int64_t, std::int64_t',
  u64: 'unsigned long, unsigned long long, size_t, std::size_t, uint64_t, std::uint64_t',
};
const DTYPE_OF = new Map(DTYPES.flatMap((dtype) => NAMES[dtype].split(', ').map((name) => [name, dtype])));

/** The element type of a scalar C type; undefined for structs and pointers. */
export const dtypeOf = ({ base, pointers }: Pick<CType, 'base' | 'pointers'>): DType | undefined =>
  pointers === 0 ? DTYPE_OF.get(base) : undefined;

/** `float4`: the scalar and how many of it. */
const VECTOR = /^(u?(?:char|short|int|long|longlong)|float|double)([1-4])$/;

/** What a vector type is made of: `float4` of four f32. */
export function vectorOf(base: string): { dtype: DType; count: number } | undefined {
  if (base === 'half2' || base === '__half2') return { dtype: 'f16', count: 2 };
  const [, scalar, count] = VECTOR.exec(base) ?? [];
  if (scalar === undefined) return undefined;
  const name = scalar.startsWith('u') ? `unsigned ${scalar.slice(1)}` : scalar;
  const dtype = DTYPE_OF.get(name.replace('longlong', 'long long'));
  return dtype && { dtype, count: Number(count) };
}

/** Bytes of a type; undefined for what the file defines itself. */
export function sizeOfType(type: CType): number | undefined {
  if (type.pointers > 0) return 8;
  const vector = vectorOf(type.base);
  if (vector) return sizeOfDType(vector.dtype) * vector.count;
  const dtype = dtypeOf(type);
  return dtype && sizeOfDType(dtype);
}
