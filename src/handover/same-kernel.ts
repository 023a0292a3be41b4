import { isDeepStrictEqual } from 'node:util';
import { bindKernel } from '../core/bind-dtype.ts';
import type { KernelFile, KernelSource } from '../core/kernel.ts';

/** Whether the text of a kernel.json describes this kernel, for the dtype that it was loaded with. */
export function isSameKernel(text: string, wanted: KernelFile): boolean {
  try {
    return isDeepStrictEqual(bindKernel(JSON.parse(text) as KernelSource, wanted.dtype, 'kernel.json'), wanted);
  } catch {
    return false;
  }
}
