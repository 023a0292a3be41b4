import { type CompiledCode, type SourceLocation, symbolOf } from '../../core/compiled-code.ts';
import { buffersOf, type LaunchPlan, type PlannedLaunch, type PlannedStep } from '../../core/launch-plan.ts';
import { kernelAccesses, mayWaitForLaunch } from '../../toolchains/module-policy.ts';

/** The first GPUs on which a launch may start before the one before it has ended. Code for others has no wait. */
const FIRST_ARCHITECTURE = 90;

/** In a source: what may wait on GPUs that have launches that overlap, in any of its spellings. */
const WAITS = /griddepcontrol\s*\.\s*wait|cudaGridDependencySynchronize/;

/** A launch that may overlap an earlier one, and what both touch. */
export interface UnwaitedLaunch {
  readonly functionName: string;
  readonly earlier: string;
  readonly buffer: string;
  /** Where it reads the buffer before it waits; undefined if it never waits. */
  readonly early?: SourceLocation | 'somewhere';
  /** A launch between them that does not wait: who waits for it does not wait for the earlier one. */
  readonly between?: string;
}

/**
 * The first launch with `programmaticDependent` that may read what an earlier one has yet to write: its function never executes
 * `griddepcontrol.wait`, though an earlier launch that may still run gets one of its buffers, or it reads a buffer before, which
 * an earlier one writes, or it waits for a launch that has not waited for an earlier one. Inputs don't count. Nothing of this shows
 * where launches run one after the other, as on a virtual GPU.
 *
 * @param sources - the kernel's files: on GPUs that run one launch after the other, they say whether it would wait on the others.
 */
export function unwaitedLaunch(
  { steps, buffers }: LaunchPlan,
  code: CompiledCode,
  sources: Readonly<Record<string, string>>,
): UnwaitedLaunch | undefined {
  const architecture = Number(/^sm_(\d+)/.exec(code.architecture)?.[1]);
  if (!(architecture >= FIRST_ARCHITECTURE) && Object.values(sources).some((text) => WAITS.test(text)))
    return undefined;
  const inputs = new Set(buffers.filter(({ role }) => role === 'in').map(({ name }) => name));
  for (const [index, step] of steps.entries()) {
    if (step.kind !== 'launch' || !step.programmaticDependent) continue;
    const waits = ({ functionName }: PlannedLaunch): boolean => mayWaitForLaunch(code, symbolOf(code, functionName));
    let between: string | undefined;
    for (const earlier of mayStillRun(steps, index)) {
      const found = waits(step) ? sharedInSpiteOfWait(step, earlier, code, between) : sharedBuffer(step, earlier);
      const shared = found.find(({ buffer }) => !inputs.has(buffer));
      if (shared) return { functionName: step.functionName, earlier: earlier.functionName, ...shared };
      if (!waits(earlier)) between ??= earlier.functionName;
    }
  }
  return undefined;
}

/** @param between the first launch between both that does not wait. */
const sharedInSpiteOfWait = (
  step: PlannedLaunch,
  earlier: PlannedLaunch,
  code: CompiledCode,
  between: string | undefined,
): Shared[] =>
  between === undefined
    ? readTooEarly(step, earlier, code)
    : writtenByEither(step, earlier, code).map((buffer) => ({ buffer, between }));

type Shared = Pick<UnwaitedLaunch, 'buffer' | 'early' | 'between'>;

function sharedBuffer(step: PlannedLaunch, earlier: PlannedLaunch): Shared[] {
  const own = new Set(step.arguments.flatMap(buffersOf));
  return earlier.arguments.flatMap(buffersOf).flatMap((buffer) => (own.has(buffer) ? [{ buffer }] : []));
}

/** Buffers that an earlier launch writes, and that this one reads before it has waited. */
function readTooEarly(step: PlannedLaunch, earlier: PlannedLaunch, code: CompiledCode): Shared[] {
  const { writes } = kernelAccesses(code, symbolOf(code, earlier.functionName));
  const reads = kernelAccesses(code, symbolOf(code, step.functionName)).readsBeforeWait;
  const written = new Set(earlier.arguments.flatMap((argument, i) => (writes.has(i) ? buffersOf(argument) : [])));
  return step.arguments.flatMap((argument, i) => {
    const early = reads.get(i);
    return early ? buffersOf(argument).flatMap((buffer) => (written.has(buffer) ? [{ buffer, early }] : [])) : [];
  });
}

/** Buffers of both launches that one of them writes, as far as their code shows. */
function writtenByEither(step: PlannedLaunch, earlier: PlannedLaunch, code: CompiledCode): string[] {
  const written = [step, earlier].flatMap(({ functionName, arguments: passed }) => {
    const { writes } = kernelAccesses(code, symbolOf(code, functionName));
    return passed.flatMap((argument, i) => (writes.has(i) ? buffersOf(argument) : []));
  });
  return sharedBuffer(step, earlier).flatMap(({ buffer }) => (written.includes(buffer) ? [buffer] : []));
}

/** Launches back to one that began after all before it had ended. */
function mayStillRun(steps: readonly PlannedStep[], index: number): PlannedLaunch[] {
  const found: PlannedLaunch[] = [];
  for (let at = index - 1; at >= 0; at--) {
    const step = steps[at]!;
    if (step.kind !== 'launch') break;
    found.push(step);
    if (!step.programmaticDependent) break;
  }
  return found;
}
