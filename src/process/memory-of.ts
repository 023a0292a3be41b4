/** The memory of all arrays in a value, however deep. Given to another thread, it need not be copied. */
export function memoryOf(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
  } else if (value instanceof Map) for (const one of value.values()) memoryOf(one, found);
  else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) memoryOf(one, found);
  return found;
}
