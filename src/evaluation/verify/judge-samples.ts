import { ptxOf } from '../../core/compiled-code.ts';
import type { Device } from '../../core/device.ts';
import type { LoadedModule } from '../../core/device-values.ts';
import { WarpsmithError } from '../../core/errors.ts';
import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { LaunchPlan, PlannedLaunch } from '../../core/launch-plan.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import { product } from '../../core/values.ts';
import { planOrRefusal } from '../launches/plan-refusal.ts';
import type { Refused } from '../launches/refusal.ts';
import { DECLARED, describeCheck } from '../oracle/check.ts';
import { type PreparedCheck, prepareCheck } from '../oracle/expectation-cache.ts';
import { countElements } from '../oracle/shapes/cost.ts';
import { CheckRuns, NATURAL } from './check-runs.ts';
import { compareWritten } from './compare-written.ts';
import { refused } from './judged-check.ts';

export interface SamplesRequest {
  readonly device: Device;
  readonly module: LoadedModule;
  readonly problem: Problem;
  readonly seed: number;
  /** Wall-clock limit of a run, in ms. */
  readonly timeoutMs: number;
  readonly instructionsPerCta?: number;
  readonly signal?: AbortSignal;
  readonly planFor: (dimensions: Dimensions) => LaunchPlan;
  /** Told before each sample. */
  readonly onSample?: (check: string) => void;
}

/** How many CTAs of a sample are run, and on how many elements they may bear and how much they may compute if all CTAs do as much. */
interface SampleLimits {
  readonly ctas: number;
  readonly elements: number;
  readonly flop: number;
}

const SAMPLE = { ctas: 64, elements: 2 ** 22, flop: 4e9, timeoutMs: 10_000 } as const;

/** What CTAs tell one another by: a sample lacks what the others would have said. */
const TELLS_OTHERS = /\b(?:(?:atom|red|multimem)\.|ld\.(?:volatile|relaxed|acquire)\.)(?!(?:[\w:]+\.)*shared)/;

/**
 * Runs a few CTAs of launches that are too large to be run whole, and compares what they wrote. Only for kernels of one launch whose CTAs do not depend on one
 * another.
 *
 * @param shapes - of each list, the first shape of which a sample says something is judged.
 * @returns the shapes of which something was compared.
 */
export async function judgeSamples(
  request: SamplesRequest,
  shapes: readonly (readonly Dimensions[])[],
): Promise<{ readonly ok: true; readonly sampled: readonly Dimensions[] } | Refused> {
  const sampled: Dimensions[] = [];
  for (const list of shapes) {
    for (const dimensions of list) {
      const result = await judgeSample(request, dimensions);
      if (result === undefined) continue;
      if (result !== 'right') return result;
      sampled.push(dimensions);
      break;
    }
  }
  return { ok: true, sampled };
}

/** `undefined` if a sample says nothing. */
async function judgeSample(request: SamplesRequest, dimensions: Dimensions): Promise<Refused | 'right' | undefined> {
  const { problem, seed, signal, timeoutMs } = request;
  signal?.throwIfAborted();
  const name = describeCheck({ dimensions, generatorSet: DECLARED });
  const plan = planOrRefusal(request, dimensions, name);
  // Plans of sizes that nobody timed are refused elsewhere.
  const ctas = 'ok' in plan ? 0 : ctasToRun(request, plan, dimensions);
  if ('ok' in plan || ctas === 0) return undefined;
  request.onSample?.(name);
  const prepared = prepareOrNothing(request, dimensions);
  if (!prepared) return undefined;
  const limits = { timeoutMs: Math.min(timeoutMs, SAMPLE.timeoutMs) };
  const runs = await CheckRuns.open({
    ...{ ...request, ...limits, name, plan, contents: prepared.inputs.bytes },
    isMain: false,
  });
  try {
    const run = await runs.run({ ...NATURAL, name: `a sample of ${ctas} CTAs`, sampleCtas: ctas });
    if (!run.ok) return run.status === 'timed-out' ? undefined : run;
    const { elements, wrong } = await compareWritten({ problem, dimensions, seed, prepared, run, signal });
    if (wrong) return { ...refused('wrong', wrong.reason, `${name} · ${run.conditions.name}`), ...wrong };
    return elements > 0 ? 'right' : undefined;
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined; // Its author never saw this shape, nor did the problem's.
    throw error;
  } finally {
    await runs.close();
  }
}

/** Not kept: no other candidate needs its hundreds of megabytes soon. Nothing where the problem's inputs can't be drawn. */
function prepareOrNothing(
  { problem, seed, signal }: SamplesRequest,
  dimensions: Dimensions,
): PreparedCheck | undefined {
  try {
    return prepareCheck({ problem, dimensions, seed, generatorSet: DECLARED }, { signal });
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined;
    throw error;
  }
}

/** The launch, if a sample of its CTAs says something: there is no other, and none of its CTAs writes what another reads. */
export function onlyLaunch({ steps, buffers }: LaunchPlan, ptx: string | undefined): PlannedLaunch | undefined {
  const [step, ...others] = steps;
  if (step?.kind !== 'launch' || others.length > 0 || step.cooperative || ptx === undefined) return undefined;
  const isAlone = !TELLS_OTHERS.test(ptx) && buffers.every(({ role }) => role !== 'workspace' && role !== 'inout');
  return isAlone ? step : undefined;
}

/** 0 if a sample says nothing of this launch, or if its CTAs do too much. */
function ctasToRun({ module: { code }, problem }: SamplesRequest, plan: LaunchPlan, dimensions: Dimensions): number {
  const step = onlyLaunch(plan, ptxOf(code));
  if (!step) return 0;
  return ctasWithin(SAMPLE, step, countElements(plan.buffers), evaluateExpression(problem.file.flop, dimensions));
}

/** 0 if one does too much. */
export function ctasWithin(most: SampleLimits, { grid }: PlannedLaunch, elements: number, flop: number): number {
  const count = product(grid);
  return Math.min(
    most.ctas,
    Math.floor((count * most.elements) / elements),
    Math.floor((count * most.flop) / Math.max(1, flop)),
  );
}
