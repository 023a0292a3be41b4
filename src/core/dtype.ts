/** Element types of buffers and scalars, named as in problem.json. */
export const DTYPES = ['f16', 'bf16', 'f32', 'f64', 'i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64'] as const;
export type DType = (typeof DTYPES)[number];

/** In problem.json and kernel.json of a problem with several dtypes: stands for the requested one. */
export const ASKED_DTYPE = 'T';

/** A part of a file as it is for one dtype: nothing is left to ask for. */
export type Bound<Written> = Written extends typeof ASKED_DTYPE
  ? never
  : Written extends readonly (infer Item)[]
    ? Bound<Item>[]
    : Written extends object
      ? { [Key in keyof Written]: Bound<Written[Key]> }
      : Written;

const PROPERTIES: Readonly<Record<DType, { bytes: number; cppType: string }>> = {
  f16: { bytes: 2, cppType: 'half' },
  bf16: { bytes: 2, cppType: '__nv_bfloat16' },
  f32: { bytes: 4, cppType: 'float' },
  f64: { bytes: 8, cppType: 'double' },
  i8: { bytes: 1, cppType: 'signed char' },
  u8: { bytes: 1, cppType: 'unsigned char' },
  i16: { bytes: 2, cppType: 'short' },
  u16: { bytes: 2, cppType: 'unsigned short' },
  i32: { bytes: 4, cppType: 'int' },
  u32: { bytes: 4, cppType: 'unsigned' },
  i64: { bytes: 8, cppType: 'long long' },
  u64: { bytes: 8, cppType: 'unsigned long long' },
};

/** The C++ type of an element in device code: the macro `DTYPE`. */
export const cppTypeOf = (dtype: DType): string => PROPERTIES[dtype].cppType;

/** Size of one element, in bytes. */
export const sizeOfDType = (dtype: DType): number => PROPERTIES[dtype].bytes;

const FLOATING: ReadonlySet<DType> = new Set(['f16', 'bf16', 'f32', 'f64']);
export const isFloating = (dtype: DType): boolean => FLOATING.has(dtype);
