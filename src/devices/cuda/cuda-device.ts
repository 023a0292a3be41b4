import type { CompiledCode } from '../../core/compiled-code.ts';
import type { Device, DeviceIdentity, RunOptions, RunOutcome } from '../../core/device.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import type { DeviceTally } from '../../core/device-tally.ts';
import type { AllocationRequest, DeviceBuffer, DeviceFailure, LoadedModule } from '../../core/device-values.ts';
import type { LaunchPlan } from '../../core/launch-plan.ts';
import type { Timing } from '../../core/timing.ts';
import { judgeModule, readCode } from '../../toolchains/module-policy.ts';
import { failure } from '../failure.ts';
import { CudaMeasuringDevice } from './cuda-measuring-device.ts';
import { endedWhileLoading, endedWhileRunning } from './ended-while-running.ts';
import { Handles } from './handles.ts';
import { Transfers } from './transfers.ts';
import type { CudaInfo } from './worker/device-info.ts';
import type { WorkerClient } from './worker-client.ts';

/** Extra time for the worker beyond the limit of a run, for the work around it. */
const RUN_MARGIN_MS = 250;

/**
 * A real NVIDIA GPU. Its context lives in a worker process. If a candidate crashes or hangs that process, this one is not
 * affected.
 */
export class CudaDevice implements Device {
  readonly identity: DeviceIdentity;
  readonly spec: DeviceSpec;
  readonly info: CudaInfo;
  readonly measuring: CudaMeasuringDevice;
  readonly #client: WorkerClient;
  readonly #handles: Handles;
  readonly #transfers: Transfers;
  readonly #release: () => void;

  /** @param release gives the GPU back to other programs. */
  constructor(client: WorkerClient, info: CudaInfo, spec: DeviceSpec, release: () => void) {
    this.#client = client;
    this.info = info;
    this.spec = spec;
    this.#release = release;
    this.#handles = new Handles(client);
    this.#transfers = new Transfers(client, this.#handles);
    this.identity = {
      id: `cuda:${info.ordinal}`,
      kind: 'cuda',
      name: info.name,
      uuid: info.uuid,
      driver: info.driver,
    };
    this.measuring = new CudaMeasuringDevice(client, this.#handles, { ...info, spec }, info.attributes.l2Bytes);
  }

  async load(code: CompiledCode): Promise<{ ok: true; module: LoadedModule } | DeviceFailure> {
    // Read here, because the parsed code is cached here; in the worker, every module is a new text.
    const { refusal } = judgeModule(code);
    if (refusal !== undefined) return failure('unsupported', refusal);
    const reading = readCode(code);
    try {
      const loaded = await this.#client.command('load', { code, reading });
      if (!loaded.ok) return loaded;
      return { ok: true, module: this.#handles.addModule(code, loaded, reading.state !== undefined) };
    } catch (error) {
      return endedWhileLoading(error);
    }
  }

  async unload(module: LoadedModule): Promise<void> {
    const id = this.#handles.takeModule(module);
    if (id !== undefined) await this.#client.housekeeping('unload', { module: id });
  }

  async allocate(request: AllocationRequest): Promise<DeviceBuffer> {
    const id = await this.#client.housekeeping('allocate', request);
    return this.#handles.addBuffer(request.name, request.bytes, id);
  }

  async free(buffer: DeviceBuffer): Promise<void> {
    const id = this.#handles.takeBuffer(buffer);
    if (id !== undefined) await this.#client.housekeeping('free', { buffer: id });
  }

  async write(buffer: DeviceBuffer, bytes: Uint8Array, offsetBytes = 0): Promise<void> {
    await this.#transfers.write([{ buffer, bytes, offsetBytes }]);
  }

  async fill(buffer: DeviceBuffer, pattern: Uint8Array): Promise<void> {
    await this.#client.housekeeping('fill', { buffer: this.#handles.buffer(buffer), pattern });
  }

  async read(buffer: DeviceBuffer): Promise<Uint8Array> {
    const [contents] = await this.#transfers.read([{ buffer }]);
    return contents!;
  }

  async damagedGuardBytes(buffer: DeviceBuffer): Promise<number> {
    return this.#client.housekeeping('damagedGuardBytes', { buffer: this.#handles.buffer(buffer) });
  }

  isUnchanged(buffer: DeviceBuffer): Promise<boolean | undefined> {
    return this.#client.housekeeping('isUnchanged', { buffer: this.#handles.buffer(buffer) });
  }

  async run(
    module: LoadedModule,
    plan: LaunchPlan,
    buffers: ReadonlyMap<string, DeviceBuffer>,
    options: RunOptions,
  ): Promise<RunOutcome> {
    const { timeoutMs } = options;
    const take = { module: this.#handles.module(module), plan, slot: this.#handles.slot(buffers) };
    try {
      return await this.#client.command('run', take, timeoutMs + RUN_MARGIN_MS);
    } catch (error) {
      return endedWhileRunning(error, plan, timeoutMs);
    }
  }

  predict(): Timing {
    throw new Error('a real GPU measures times, it does not predict them');
  }

  async tally(): Promise<DeviceTally> {
    const driver = await this.#client.housekeeping('tally', {});
    const { tally: _, ...messages } = this.#client.tally.entries;
    return { messages, together: this.#client.together.entries, driver };
  }

  async close(): Promise<void> {
    await this.#client.close();
    this.#release();
  }
}
