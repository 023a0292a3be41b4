import type { DeviceSpec } from '../../core/device-spec.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import type { ReplayRun } from '../../devices/cuda/replay/replay-request.ts';
import { type Check, checksFor, describeCheck } from '../checks.ts';
import { drawInputs } from '../draw-inputs.ts';
import { fitsSharedMemory } from '../fits-shared-memory.ts';

/** Instrumented kernels run up to a hundred times slower: a few small shapes, which are the ragged ones, must do. */
const CHECK_COUNT = 4;

/**
 * The check shapes a candidate is sanitized on, with their plans and inputs: of those it takes, the smallest ones by the
 * bytes of their buffers, each once. A candidate that takes no check shape is sanitized on its workload.
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
