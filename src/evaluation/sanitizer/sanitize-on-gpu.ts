import type { Evaluation } from '../../core/evaluation.ts';
import type { InstrumentSubject } from '../instruments.ts';
import { planLaunches } from '../plan-launches.ts';
import { sanitize } from './sanitize.ts';
import { sanitizerChecks } from './sanitizer-checks.ts';

/**
 * Has every tool of the sanitizer look at a candidate on the check shapes.
 *
 * @param ordinal number of the GPU, as the driver counts.
 */
export const sanitizeOnGpu = async (
  { device, module, problem, candidate, workload, seed, signal }: InstrumentSubject,
  ordinal: number,
): Promise<Required<Pick<Evaluation, 'sanitizer'>>> => {
  const { spec } = device;
  const checks = sanitizerChecks({
    problem,
    candidate,
    dimensions: workload.dimensions,
    seed,
    spec,
    planFor: (dimensions) => planLaunches({ problem, candidate, dimensions, spec, module }),
  });
  return { sanitizer: await sanitize({ ordinal, code: module.code, checks, signal }) };
};
