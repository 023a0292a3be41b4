import { isDeepStrictEqual } from 'node:util';
import { bindKernel } from '../core/bind-dtype.ts';
import type { KernelFile, KernelSource } from '../core/kernel.ts';

/** Whether a kernel.json's text says what the kernel is, for the dtype that it was loaded for. */
export function isSameKernel(text: string, wanted: KernelFile): boolean {
  try {
    return isDeepStrictEqual(bindKernel(JSON.parse(text) as KernelSource, wanted.dtype, 'kernel.json'), wanted);
  } catch {
    return false;
  }
}
