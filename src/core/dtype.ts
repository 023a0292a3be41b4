/** Element types of buffers and scalars, named as in problem.json. */
export const DTYPES = ['f16', 'bf16', 'f32', 'f64', 'i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64'] as const;
export type DType = (typeof DTYPES)[number];

/** In problem.json and kernel.json of a problem with several dtypes: stands for the requested one. */
export const ASKED_DTYPE = 'T';
/** A dtype as a file may write it. */
export type WrittenDType = DType | typeof ASKED_DTYPE;

/** A part of a file as it is for one dtype: nothing is left to ask for. */
export type Bound<Written> = Written extends typeof ASKED_DTYPE
  ? never
  : Written extends readonly (infer Item)[]
    ? Bound<Item>[]
    : Written extends object
      ? { [Key in keyof Written]: Bound<Written[Key]> }
      : Written;

const CPP_TYPES: Record<DType, string> = {
  f16: 'half',
  bf16: '__nv_bfloat16',
  f32: 'float',
  f64: 'double',
  i8: 'signed char',
  u8: 'unsigned char',
  i16: 'short',
  u16: 'unsigned short',
  i32: 'int',
  u32: 'unsigned',
  i64: 'long long',
  u64: 'unsigned long long',
};

/** The C++ type of an element in device code: the macro `DTYPE`. */
export const cppTypeOf = (dtype: DType): string => CPP_TYPES[dtype];

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
