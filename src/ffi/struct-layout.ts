import koffi from 'koffi';

/** C types of a structure's fields; a number is that many bytes. */
export type FieldType = 'i32' | 'u32' | 'u64' | 'address' | number;

export interface StructLayout<F extends string> {
  readonly bytes: number;
  /** Offset of each field, in bytes. */
  readonly offsets: Readonly<Record<F, number>>;
}

const C_TYPE = { i32: 'int32_t', u32: 'uint32_t', u64: 'uint64_t', address: 'void *' } as const;

/**
 * Offsets at which the platform's C compiler places the fields.
 * @throws Error if the size differs from the one in the library's header, because every call would then be wrong.
 */
export function structLayout<F extends string>(
  name: string,
  expectedBytes: number,
  fields: Readonly<Record<F, FieldType>>,
): StructLayout<F> {
  const entries = Object.entries(fields) as [F, FieldType][];
  const definition = Object.fromEntries(
    entries.map(([field, type]) => [field, typeof type === 'number' ? koffi.array('uint8_t', type) : C_TYPE[type]]),
  );
  const type = koffi.struct(definition);
  const bytes = koffi.sizeof(type);
  if (bytes !== expectedBytes) throw new Error(`${name} has ${bytes} bytes here, not ${expectedBytes}`);
  const offsets = Object.fromEntries(entries.map(([field]) => [field, koffi.offsetof(type, field)]));
  return { bytes, offsets: offsets as Record<F, number> };
}
