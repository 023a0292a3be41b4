import { lazilyMapped } from '../../src/core/sparse-tensor.ts';

/** Whether this machine maps so many elements in one array. Those with less memory than they would take map none. */
export function maps(length: number): boolean {
  try {
    return lazilyMapped({ length, pieces: [] }).length === length;
  } catch {
    return false;
  }
}
