import type { DeviceSpec } from '../../../core/device-spec.ts';
import type { Candidate } from '../../../core/kernel.ts';
import type { LaunchPlan } from '../../../core/launch-plan.ts';
import type { Dimensions, Problem } from '../../../core/problem.ts';
import type { ReplayRun } from '../../../devices/cuda/replay/replay-request.ts';
import { fitsSharedMemory } from '../../launches/fits-shared-memory.ts';
import { nameInSlot, repeatPlan } from '../../launches/repeat-plan.ts';
import { type Check, DECLARED, describeCheck } from '../../oracle/check.ts';
import { checksFor } from '../../oracle/checks/choose.ts';
import { drawInputs } from '../../oracle/draw-inputs.ts';
import type { TimedRuns } from './sanitize.ts';

/** Instrumented kernels run up to a hundred times slower, so only a few small shapes run; these are ragged. */
const CHECK_COUNT = 4;

/**
 * The check shapes for the sanitizer, with plans and inputs: the smallest distinct ones (by buffer bytes) that the
 * candidate takes. A candidate that takes no check shape is sanitized on its workload.
 */
export function sanitizerChecks(request: {
  problem: Problem;
  candidate: Candidate;
  /** The workload's. */
  dimensions: Dimensions;
  seed: number;
  planFor: (dimensions: Dimensions) => LaunchPlan;
  spec: DeviceSpec;
}): ReplayRun[] {
  const { problem, candidate, dimensions, seed, planFor, spec } = request;
  const { kernel, parameters } = candidate;
  const fits = (shape: Dimensions) => fitsSharedMemory(() => planFor(shape), { spec });
  const { checks } = checksFor({ problem: problem.file, kernel: kernel.file, parameters, dimensions, seed, fits });
  const shapes = oncePerShape(checks.filter(({ isMain }) => !isMain).concat(checks.filter(({ isMain }) => isMain)));
  const isWorkload = (check: Check): boolean => shapeOf(check) === JSON.stringify(dimensions);
  const others = shapes.filter((check) => !isWorkload(check));
  return (others.length > 0 ? others : shapes)
    .map((check) => ({ check, plan: planFor(check.dimensions) }))
    .sort((a, b) => bytesOf(a.plan) - bytesOf(b.plan))
    .slice(0, CHECK_COUNT)
    .map(({ check, plan }) => {
      const { generatorSet } = check;
      const inputs = drawInputs({ problem, buffers: plan.buffers, dimensions: check.dimensions, seed, generatorSet });
      return { name: describeCheck(check), plan, contents: inputs.bytes };
    });
}

const shapeOf = ({ dimensions }: Check): string => JSON.stringify(dimensions);

const oncePerShape = (checks: readonly Check[]): Check[] =>
  checks.filter((check, i) => checks.findIndex((other) => shapeOf(other) === shapeOf(check)) === i);

const bytesOf = (plan: LaunchPlan): number => plan.buffers.reduce((sum, { bytes }) => sum + bytes, 0);

/** Fewest and most launch sequences of a burst; the actual number is secret. */
const FEWEST_SEQUENCES = 24;
const MOST_SEQUENCES = 64;
/** Most launch sequences for a tool that looks at each launch alone. */
const FEW_SEQUENCES = 2;
/** Limits of a burst: memory, and time without instrumentation, which may make it a thousand times as slow. */
const MOST_BURST_BYTES = 2 ** 29;
const MOST_BURST_NS = 20e6;

/**
 * The timed path: the workload's launch sequence many times, each in buffers of its own, and a few times. It exposes mistakes
 * that occur in large shapes, or only after several launches. Only one sequence if one takes long.
 *
 * @param sequenceNs time of one sequence.
 * @param share position of the number of sequences between the fewest and the most, from 0 to 1; secret.
 */
export function sanitizerBursts(request: {
  problem: Problem;
  plan: LaunchPlan;
  dimensions: Dimensions;
  seed: number;
  sequenceNs: number;
  share: number;
}): TimedRuns {
  const { problem, plan, dimensions, seed, sequenceNs, share } = request;
  const wanted = FEWEST_SEQUENCES + Math.floor(share * (MOST_SEQUENCES + 1 - FEWEST_SEQUENCES));
  const fitting = Math.min(MOST_BURST_BYTES / bytesOf(plan), MOST_BURST_NS / sequenceNs);
  const count = Math.max(1, Math.min(wanted, Math.floor(fitting)));
  const { bytes } = drawInputs({ problem, buffers: plan.buffers, dimensions, seed, generatorSet: DECLARED });
  return { many: burst(plan, bytes, count), few: burst(plan, bytes, Math.min(count, FEW_SEQUENCES)) };
}

function burst(plan: LaunchPlan, inputs: ReadonlyMap<string, Uint8Array>, count: number): ReplayRun {
  const contents = Array.from({ length: count }, (_, slot) =>
    [...inputs].map(([name, value]) => [nameInSlot(name, slot), value] as const),
  );
  const sequences = count === 1 ? 'one launch sequence' : `${count} launch sequences in a row`;
  return { name: `the workload, ${sequences}`, plan: repeatPlan(plan, count), contents: new Map(contents.flat()) };
}
