import type { CompiledCode } from '../../core/compiled-code.ts';
import { buffersOf, type LaunchPlan, type PlannedLaunch, type PlannedStep } from '../../core/launch-plan.ts';
import { mayWaitForLaunch } from '../../toolchains/module-policy.ts';

/** The first GPUs on which a launch may start before the one before it has ended. Code for others has no wait. */
const FIRST_ARCHITECTURE = 90;

/** In a source: what may wait on GPUs that have launches that overlap, in any of its spellings. */
const WAITS = /griddepcontrol\s*\.\s*wait|cudaGridDependencySynchronize/;

/** A launch that may overlap an earlier one, and what both touch. */
export interface UnwaitedLaunch {
  readonly functionName: string;
  readonly earlier: string;
  readonly buffer: string;
}

/**
 * The first launch with `programmaticDependent` whose function never executes `griddepcontrol.wait`, though an earlier launch that may
 * still run gets one of its buffers, not counting inputs. Such a launch may read what the earlier one has yet to write. Nothing
 * of this shows where launches run one after the other, as on a virtual GPU.
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
  const symbolOf = ({ functionName }: PlannedLaunch): string => code.functionSymbols[functionName] ?? functionName;
  for (const [index, step] of steps.entries()) {
    if (step.kind !== 'launch' || !step.programmaticDependent || mayWaitForLaunch(code, symbolOf(step))) continue;
    const own = new Set(step.arguments.flatMap(buffersOf).filter((name) => !inputs.has(name)));
    for (const earlier of mayStillRun(steps, index)) {
      const buffer = earlier.arguments.flatMap(buffersOf).find((name) => own.has(name));
      if (buffer !== undefined) return { functionName: step.functionName, earlier: earlier.functionName, buffer };
    }
  }
  return undefined;
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
