import type { EvaluateOptions } from '../app/evaluate.ts';
import type { CliContext } from './context.ts';
import type { JudgingOptions } from './program.ts';

/** Options of the command line as the use cases take them: absent where not given. */
export function judgingRequest(
  { workload, set, seed, threads, runTimeout }: JudgingOptions,
  { signal }: CliContext,
): Omit<EvaluateOptions, 'device' | 'target'> {
  return {
    parameters: set ?? {},
    seed,
    signal,
    ...(workload === undefined ? {} : { workload }),
    ...(threads === undefined ? {} : { threads }),
    ...(runTimeout === undefined ? {} : { runTimeoutSeconds: runTimeout }),
  };
}
