import { DEFAULT_DEVICE } from '../app/session.ts';
import type { Streams } from './output.ts';

/** What a command needs of the process around it. */
export interface CliContext {
  streams: Streams;
  /** Fires on Ctrl-C. */
  signal: AbortSignal;
}

/** A command's work; returns the exit code. */
export type Run<Options> = (options: Options, context: CliContext) => Promise<number>;

/** The device asked for, or the default, saying so. */
export function deviceOrDefault(device: string | undefined, { streams }: CliContext): string {
  if (device !== undefined) return device;
  streams.err.write(`No --device given: using ${DEFAULT_DEVICE} (no CUDA device is used by this version).\n`);
  return DEFAULT_DEVICE;
}
