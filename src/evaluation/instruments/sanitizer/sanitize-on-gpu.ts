import { randomInt } from 'node:crypto';
import type { Evaluation } from '../../../core/evaluation.ts';
import type { SanitizerReport } from '../../../core/profile.ts';
import { hasPartialBarriers } from '../../../toolchains/module-policy.ts';
import { planLaunches } from '../../launches/plan-launches.ts';
import type { SanitizerSubject } from '../instruments.ts';
import { sanitize } from './sanitize.ts';
import { sanitizerBursts, sanitizerChecks } from './sanitizer-checks.ts';

const SHARE_STEPS = 2 ** 32;

/**
 * Runs every tool of the sanitizer on a candidate's check shapes, and on the workload as it is timed: many launch sequences
 * in a row.
 *
 * @param ordinal number of the GPU in the driver's order.
 */
export async function sanitizeOnGpu(
  { device, module, plan, problem, candidate, workload, seed, sequenceNs, signal }: SanitizerSubject,
  ordinal: number,
): Promise<Required<Pick<Evaluation, 'sanitizer'>>> {
  const { spec } = device;
  const checks = sanitizerChecks({
    problem,
    candidate,
    dimensions: workload.dimensions,
    seed,
    spec,
    planFor: (dimensions) => planLaunches({ problem, candidate, dimensions, spec, module }),
  });
  const { dimensions } = workload;
  const share = randomInt(SHARE_STEPS) / SHARE_STEPS;
  const timed = sanitizerBursts({ problem, plan, dimensions, seed, sequenceNs, share });
  const { use } = device.measuring!;
  const report = await use.beside(() => sanitize({ ordinal, code: module.code, checks, timed, signal }));
  const isDoubtful = failsOnlyRacecheck(report) && hasPartialBarriers(module.code);
  return { sanitizer: { ...report, doubt: isDoubtful ? { reason: 'partial-barriers' } : undefined } };
}

const failsOnlyRacecheck = ({ outcome, tools }: SanitizerReport): boolean =>
  outcome === 'errors' && tools.every(({ tool, outcome: found }) => tool === 'racecheck' || found === 'clean');
