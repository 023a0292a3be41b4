import type { LaunchCounters } from '../../../core/counters.ts';
import type { DeviceSpec } from '../../../core/device-spec.ts';
import { WarpsmithError } from '../../../core/errors.ts';
import type { CountersSource } from '../../../core/profile.ts';
import { VirtualDevice } from '../../../devices/virtual/virtual-device.ts';
import { DEVICE_SPECS } from '../../../hardware/device-specs.ts';
import { createClangToolchain } from '../../../toolchains/clang.ts';
import type { Toolchain } from '../../../toolchains/toolchain.ts';
import { planLaunches } from '../../launches/plan-launches.ts';
import { allocateCheckMemory } from '../../launches/run-once.ts';
import { DECLARED } from '../../oracle/check.ts';
import { drawInputs } from '../../oracle/draw-inputs.ts';
import type { InstrumentSubject } from '../instruments.ts';

export interface VirtualCountersRequest
  extends Pick<InstrumentSubject, 'problem' | 'candidate' | 'workload' | 'seed' | 'signal'> {
  /** The real GPU's architecture: the virtual GPU of the same architecture counts, else the H200. */
  readonly spec: DeviceSpec;
  /** Why the real GPU's counters are missing, for the label. */
  readonly because: string;
  /** Shared between calls, for its cache; one of its own when absent. */
  readonly toolchain?: Toolchain;
  /** Wall-clock limit of the counted run; 30 s when absent. */
  readonly timeoutMs?: number;
}

export type VirtualCountersOutcome =
  | { readonly ok: true; readonly counters: LaunchCounters[]; readonly countersSource: CountersSource }
  | { readonly ok: false; readonly detail: string };

const DEFAULT_TIMEOUT_MS = 30_000;
/** CTAs of each launch that are executed. Their counters are scaled up to all CTAs, and labelled so. */
const SAMPLED_CTAS = 256;
const FALLBACK = 'h200';

/**
 * Counts a candidate on a virtual GPU if the real one's counters are unavailable: the same CUDA C++, compiled by clang. If
 * the virtual GPU can't compile or run it, gives a reason and no counters.
 */
export async function virtualCounters(request: VirtualCountersRequest): Promise<VirtualCountersOutcome> {
  const { problem, candidate, workload, seed, signal } = request;
  const spec = [...DEVICE_SPECS.values()].find(({ architecture }) => architecture === request.spec.architecture);
  const device = new VirtualDevice(spec ?? DEVICE_SPECS.get(FALLBACK)!);
  try {
    const toolchain = request.toolchain ?? (await createClangToolchain());
    const compiled = await toolchain.compile({ candidate, architecture: device.spec.architecture, signal });
    if (!compiled.ok) return notCounted(device, compiled.message);
    const loaded = await device.load(compiled.code);
    if (!loaded.ok) return notCounted(device, loaded.message);
    const { dimensions } = workload;
    const plan = planLaunches({ problem, candidate, dimensions, spec: device.spec, module: loaded.module });
    const inputs = drawInputs({ problem, buffers: plan.buffers, dimensions, seed, generatorSet: DECLARED });
    const memory = await allocateCheckMemory(device, plan, inputs.bytes);
    for (const { name, role } of plan.buffers) {
      if (role === 'inout') await device.write(memory.buffers.get(name)!, inputs.bytes.get(name)!);
    }
    const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const options = { orderSeed: 0, count: true, timeoutMs, sampleCtas: SAMPLED_CTAS };
    const outcome = await device.run(loaded.module, plan, memory.buffers, options);
    if (!outcome.ok) return notCounted(device, outcome.message);
    const detail = `counted on ${device.identity.id} because ${request.because}`;
    return { ok: true, counters: outcome.counters, countersSource: { kind: 'virtual-gpu', detail } };
  } catch (error) {
    if (error instanceof WarpsmithError) return notCounted(device, error.message);
    throw error;
  } finally {
    await device.close();
  }
}

const notCounted = ({ identity }: VirtualDevice, why: string): VirtualCountersOutcome => ({
  ok: false,
  detail: `not counted on ${identity.id} either: ${why}`,
});
