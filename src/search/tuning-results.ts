import { isKernelTunerCache, parseKernelTunerCache } from './kernel-tuner-cache.ts';
import type { RecordedSpace } from './recorded-space.ts';
import { parseT4 } from './t4.ts';

/** Reads results of an auto-tuner: T4, or a cache file of Kernel Tuner. @throws WarpsmithError as the parser of either. */
export const parseTuningResults = (content: unknown, file: string): RecordedSpace =>
  isKernelTunerCache(content) ? parseKernelTunerCache(content, file) : parseT4(content, file);
