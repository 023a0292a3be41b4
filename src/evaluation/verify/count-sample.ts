import type { Coverage } from '../../core/evaluation.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import { assignments, sum } from '../../core/values.ts';
import type { Refused } from '../launches/refusal.ts';
import { compareWritten, NOTHING_WRITTEN } from './compare-written.ts';
import { refused } from './judged-check.ts';
import { openCheck } from './open-check.ts';
import { runChecks } from './verify.ts';
import type { Verified, VerifyRequest } from './verify-request.ts';

/** Of a workload of which only about so many CTAs are run. */
type SampleRequest = VerifyRequest & { readonly sampleCtas: number };

/**
 * Verifies a candidate at all shapes but the main workload's, then counts a part of the workload's CTAs. Nothing is verified there.
 *
 * @throws as `verify`.
 */
export async function verifyBesideSample(request: SampleRequest): Promise<Verified | Refused> {
  const others = await runChecks(request, true);
  if (!others.ok) return others;
  const sample = await countSample(request);
  const coverage = withSample(others.coverage, request, sample.ok ? sample.sampledCtas : undefined);
  if (!sample.ok) return { correctness: others.correctness, ...sample, coverage };
  const { plan, counters, printed } = sample;
  return { ok: true, correctness: others.correctness, coverage, plan, counters, printed };
}

/** Says what was left out. */
function withSample(coverage: Coverage, { dimensions }: SampleRequest, sampledCtas: Coverage['sampledCtas']): Coverage {
  const shape = assignments(dimensions).join(', ');
  const others = coverage.leftOut.filter(({ check }) => !check.startsWith(`${shape} `));
  const reason = 'of this shape, only a sample of the CTAs ran';
  return {
    ...coverage,
    sampledCtas,
    generatorSets: [],
    leftOut: [...others, { check: `every check at ${shape}`, reason }],
  };
}

/** What a part of a workload's CTAs shows. */
type CountedSample = { readonly ok: true } & Pick<Verified, 'plan' | 'counters' | 'printed'> & {
    readonly sampledCtas: NonNullable<Coverage['sampledCtas']>;
  };

/**
 * Runs about so many CTAs of the main workload, counted, and compares some of what they wrote. That shows wrong results at this size,
 * but no right ones: most of the output was not computed.
 */
async function countSample(request: SampleRequest): Promise<CountedSample | Refused> {
  const { sampleCtas } = request;
  const opened = await openCheck(request);
  if (!opened.ok) return opened;
  const { name, plan, prepared, runs } = opened;
  try {
    const run = await runs.sample(sampleCtas);
    if (!run.ok) return hasLaterLaunches(plan) ? fedByPart(run) : run;
    // What a later launch computes follows from all CTAs of an earlier one.
    const compared = hasLaterLaunches(plan) ? NOTHING_WRITTEN : await compareWritten({ ...request, prepared, run });
    if (compared.wrong)
      return { ...refused('wrong', compared.wrong.reason, `${name} · ${run.conditions.name}`), ...compared.wrong };
    const { counters, printed } = run;
    const [ran, of] = [sum(counters.map((one) => one.countedCtas)), sum(counters.map((one) => one.ctaCount))];
    return { ok: true, plan, counters, printed, sampledCtas: { run: ran, of, comparedElements: compared.elements } };
  } finally {
    await runs.close();
  }
}

const hasLaterLaunches = ({ steps }: LaunchPlan): boolean => steps.filter(({ kind }) => kind === 'launch').length > 1;

/** A launch may stop at what earlier ones have not computed, which is no mistake of the kernel. */
const fedByPart = (stopped: Refused): Refused => ({
  ...stopped,
  status: stopped.status === 'timed-out' ? 'timed-out' : 'unsupported',
  reason: `a sample of CTAs can't show this kernel: a launch stopped, perhaps at what CTAs left out would have computed: ${stopped.reason}`,
});
