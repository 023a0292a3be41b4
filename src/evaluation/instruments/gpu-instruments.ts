import type { Device } from '../../core/device.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Problem } from '../../core/problem.ts';
import { startOnDemand } from '../launches/start-on-demand.ts';
import type { ExpectationCache } from '../oracle/expectation-cache.ts';
import type { DeviceReference } from '../oracle/expectations.ts';
import { BaselineWorker } from './baselines/baseline-worker.ts';
import type { Instruments } from './instruments.ts';
import { diagnoseOnGpu } from './profilers/diagnose-on-gpu.ts';
import { sanitizeOnGpu } from './sanitizer/sanitize-on-gpu.ts';

export interface GpuInstrumentsOptions {
  /** Its id says the ordinal, e.g. `cuda:0`. */
  readonly device: Device;
  readonly oracle: ExpectationCache;
  /** For the slots of timed samples; the caller's. */
  readonly deviceReference: DeviceReference;
}

/** What a real GPU's evaluations can be asked for; each part starts when it is first needed, all end with `close`. */
export interface GpuInstruments extends Instruments {
  readonly deviceReference: DeviceReference;
  readonly baselineNames: NonNullable<Instruments['baselineNames']>;
  close(): Promise<void>;
}

export function createGpuInstruments(options: GpuInstrumentsOptions): GpuInstruments {
  const ordinal = Number(options.device.identity.id.slice('cuda:'.length));
  const workers = startOnDemand((problem: Problem) => startBaselines(options, problem));
  return {
    diagnose: (subject) => diagnoseOnGpu(subject, ordinal),
    sanitize: (subject) => sanitizeOnGpu(subject, ordinal),
    async baselineNames(problem, { dimensions }) {
      const worker = await workers.get(problem);
      if (typeof worker === 'string') return worker;
      const listed = await worker.list(dimensions);
      return listed.ok ? listed.baselines.map(({ name }) => name) : listed.reason;
    },
    async baseline({ name, problem, workload, seed }) {
      const worker = await workers.get(problem);
      if (typeof worker === 'string') return worker;
      const prepared = await worker.contender(name, workload, seed);
      return prepared.ok ? prepared : prepared.reason;
    },
    deviceReference: options.deviceReference,
    async close() {
      for (const worker of await workers.started()) if (typeof worker !== 'string') await worker.close();
    },
  };
}

/** The Python worker of a problem, or why there is none: the rest works without it. */
async function startBaselines(
  { device, oracle }: GpuInstrumentsOptions,
  problem: Problem,
): Promise<BaselineWorker | string> {
  const gpu = { uuid: device.identity.uuid, use: device.measuring!.use };
  try {
    return await BaselineWorker.start({ problem, oracle, gpu });
  } catch (error) {
    if (error instanceof WarpsmithError) return [error.message, error.details.hint].filter(Boolean).join(' ');
    throw error;
  }
}
