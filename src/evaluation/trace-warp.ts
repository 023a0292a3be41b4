import type { CompileOutcome } from '../core/compiled-code.ts';
import type { Device } from '../core/device.ts';
import type { LaunchPlan } from '../core/launch-plan.ts';
import type { TracedPlace, WarpTrace } from '../core/warp-trace.ts';
import type { Toolchain } from '../toolchains/toolchain.ts';
import type { InstrumentSubject } from './instruments/instruments.ts';
import { planLaunches } from './launches/plan-launches.ts';
import { NAN_POISON } from './launches/poison.ts';
import { allocateCheckMemory, runOnce } from './launches/run-once.ts';
import { DECLARED } from './oracle/check.ts';
import type { ExpectationCache } from './oracle/expectation-cache.ts';

/** A warp is followed slowly, and its launch is small otherwise: only its CTA runs. */
const TIMEOUT_MS = 20_000;

export interface TraceRequest
  extends Pick<InstrumentSubject, 'problem' | 'candidate' | 'workload' | 'seed' | 'signal'> {
  readonly place: TracedPlace;
}

export type TraceOutcome =
  | { readonly ok: true; readonly trace: WarpTrace; readonly plan: LaunchPlan }
  /** Why there is none: what the compiler or the device said. */
  | { readonly ok: false; readonly reason: string };

/**
 * Follows one warp of a candidate over the workload's own inputs, on a virtual device. Verifies nothing.
 *
 * @throws WarpsmithError for a launch plan that can't be used.
 */
export async function traceWarp(
  { device, toolchain, oracle }: { device: Device; toolchain: Toolchain; oracle: ExpectationCache },
  { problem, candidate, workload, seed, place, signal }: TraceRequest,
): Promise<TraceOutcome> {
  const compiled: CompileOutcome = await toolchain.compile({
    candidate,
    architecture: device.spec.architecture,
    signal,
  });
  if (!compiled.ok) return { ok: false, reason: compiled.message };
  const loaded = await device.load(compiled.code);
  if (!loaded.ok) return { ok: false, reason: loaded.message };
  const { dimensions } = workload;
  try {
    signal?.throwIfAborted();
    const plan = planLaunches({ problem, candidate, dimensions, spec: device.spec, module: loaded.module });
    const { inputs } = oracle.check({ problem, seed, dimensions, generatorSet: DECLARED });
    const memory = await allocateCheckMemory(device, plan, inputs.bytes);
    try {
      const conditions = { name: 'trace', orderSeed: 0, poison: NAN_POISON, count: false, timeoutMs: TIMEOUT_MS };
      const run = await runOnce(memory, loaded.module, { ...conditions, trace: place });
      if (!run.ok) return { ok: false, reason: run.message };
      return run.trace
        ? { ok: true, trace: run.trace, plan }
        : { ok: false, reason: `step ${place.step} of the launch plan is no launch, or has no CTA ${place.cta}` };
    } finally {
      await memory.close();
    }
  } finally {
    await device.unload(loaded.module);
  }
}
