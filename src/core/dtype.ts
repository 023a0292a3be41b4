/** Element types of buffers and scalars, named as in problem.json. */
export const DTYPES = ['f16', 'bf16', 'f32', 'f64', 'i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64'] as const;
export type DType = (typeof DTYPES)[number];

const SIZE_BYTES: Record<DType, number> = {
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

/** Size of one element, in bytes. */
export const sizeOfDType = (dtype: DType): number => SIZE_BYTES[dtype];

const FLOATING: ReadonlySet<DType> = new Set(['f16', 'bf16', 'f32', 'f64']);
export const isFloating = (dtype: DType): boolean => FLOATING.has(dtype);
