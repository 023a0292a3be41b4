import { randomInt } from 'node:crypto';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { judgeOtherDtypes, otherDtypes, withOtherDtypes } from '../../src/app/other-dtypes.ts';
import type { Session } from '../../src/app/session.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { completeDimensions } from '../../src/core/plan/dimensions.ts';
import { completeParameters } from '../../src/core/plan/parameters.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import { takesWorkload } from '../../src/core/plan/takes-workload.ts';
import type { Problem } from '../../src/core/problem.ts';
import { refusingUnreached } from '../../src/core/unreached.ts';

const MOST_SEED = 2 ** 31;

/** Judges a kernel as `evaluate` does, in every dtype that it takes, at the problem's first workload that it takes, with a seed that nobody has used. */
export async function judgeThoroughly(
  session: Session,
  device: string,
  folder: string,
): Promise<{ readonly problem: Problem; readonly seed: number; readonly evaluation: Evaluation }> {
  const { kernel, problem } = await loadKernel(folder);
  const candidate = makeCandidate(kernel, completeParameters(kernel.file, {}));
  const taken = problem.file.workloads.find(({ dimensions }) =>
    takesWorkload(candidate, completeDimensions(problem.file.dimensions, dimensions)),
  );
  const workload = resolveWorkload(problem.file, (taken ?? problem.file.workloads[0]!).name);
  const seed = randomInt(MOST_SEED);
  const request = { problem, candidate, workload, seed, thorough: true, large: true };
  const first = refusingUnreached(await session.evaluator.evaluate(request));
  const dtypes = first.status === 'passed' ? otherDtypes(problem, kernel) : [];
  const others = { session, dtypes, seed, unreached: 'refuse' } as const;
  const asked = { target: folder, device, workload: workload.name };
  return { problem, seed, evaluation: withOtherDtypes(first, await judgeOtherDtypes(asked, others)) };
}
