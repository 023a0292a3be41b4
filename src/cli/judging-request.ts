import type { ParameterValues } from '../core/kernel.ts';
import type { CliContext } from './context.ts';
import type { JudgingOptions } from './program.ts';

/** Options of the command line as the use cases take them: absent where not given. */
export function judgingRequest(
  { workload, set, seed, threads }: JudgingOptions,
  { signal }: CliContext,
): { workload?: string; parameters: ParameterValues; seed: number; threads?: number; signal: AbortSignal } {
  return {
    parameters: set ?? {},
    seed,
    signal,
    ...(workload === undefined ? {} : { workload }),
    ...(threads === undefined ? {} : { threads }),
  };
}
