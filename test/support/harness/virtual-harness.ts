import type { Device } from '../../../src/core/device.ts';
import type { DeviceBuffer, LoadedModule } from '../../../src/core/device-values.ts';
import type { DType } from '../../../src/core/dtype.ts';
import { sizeOfDType } from '../../../src/core/dtype.ts';
import type { LaunchPlan, PlannedArgument } from '../../../src/core/launch-plan.ts';
import type { DrawRule } from '../../../src/core/measuring-device.ts';
import {
  type DrawJob,
  HARNESS_BLOCK,
  HARNESS_FUNCTIONS,
  type HarnessFunction,
  harnessGrid,
  type PackedJobs,
  packDrawJobs,
} from '../../../src/devices/cuda/harness/harness.ts';
import { HARNESS_PTX } from '../../../src/devices/cuda/harness/harness-ptx.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { loadCode, planLaunch } from '../launch/launch-kernel.ts';

/** Writes a pointer parameter to memory, so that tests can put addresses into jobs. */
const ADDRESS_PTX = `
.version 7.8
.target sm_80
.address_size 64
.visible .entry address_of(.param .u64 out, .param .u64 buffer)
{
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [buffer];
  st.global.u64 [%rd1], %rd2;
  ret;
}
`;

/** A buffer whose address the jobs may name. */
export interface Target {
  buffer: DeviceBuffer;
  address: bigint;
}

/** The harness on the virtual H200: jobs are launched as the CUDA worker launches them. */
export class VirtualHarness {
  readonly #device: Device;
  readonly #harness: LoadedModule;
  readonly #addresses: LoadedModule;
  readonly #targets: Target[] = [];

  constructor(device: Device, harness: LoadedModule, addresses: LoadedModule) {
    this.#device = device;
    this.#harness = harness;
    this.#addresses = addresses;
  }

  static async open(): Promise<VirtualHarness> {
    const device = await openDevice('virtual:h200', { threads: 1 });
    return new VirtualHarness(device, await loadCode(device, HARNESS_PTX), await loadCode(device, ADDRESS_PTX));
  }

  close(): Promise<void> {
    return this.#device.close();
  }

  async allocate(bytes: number): Promise<Target> {
    const name = `target${this.#targets.length}`;
    const buffer = await this.#device.allocate({ name, bytes, alignmentBytes: 256 });
    const out = await this.#device.allocate({ name: 'out', bytes: 8, alignmentBytes: 8 });
    await this.#run(this.#addresses, 'address_of', 1, 1, [out, buffer], [pointer(out), pointer(buffer)]);
    const address = new BigUint64Array((await this.#device.read(out)).slice().buffer)[0]!;
    await this.#device.free(out);
    const target = { buffer, address };
    this.#targets.push(target);
    return target;
  }

  async freeAll(): Promise<void> {
    for (const { buffer } of this.#targets.splice(0)) await this.#device.free(buffer);
  }

  read(target: Target): Promise<Uint8Array> {
    return this.#device.read(target.buffer);
  }

  write(target: Target, bytes: Uint8Array, offsetBytes = 0): Promise<void> {
    return this.#device.write(target.buffer, bytes, offsetBytes);
  }

  /** `draw` or `fill`. */
  async launch(name: HarnessFunction, packed: PackedJobs, grid = harnessGrid(packed, 4)): Promise<void> {
    await this.#launchJobs(name, packed, grid);
  }

  /** `match` or `count`: one count for each job. */
  count(name: HarnessFunction, packed: PackedJobs, grid = harnessGrid(packed, 4)): Promise<BigUint64Array> {
    return this.#launchJobs(name, packed, grid, packed.jobCount);
  }

  async copy(name: HarnessFunction, to: Target, from: Target, vectorCount: number, grid: number): Promise<void> {
    const buffers = [to.buffer, from.buffer];
    const values = [...buffers.map(pointer), whole(vectorCount)];
    await this.#run(this.#harness, HARNESS_FUNCTIONS[name], grid, HARNESS_BLOCK, buffers, values);
  }

  /** Draws one buffer of its own and returns its elements' bytes. */
  async drawn(dtype: DType, elementCount: number, rule: DrawRule, key: DrawJob['key']): Promise<Uint8Array> {
    const target = await this.allocate(elementCount * sizeOfDType(dtype));
    await this.launch('draw', packDrawJobs([{ address: target.address, elementCount, dtype, rule, key }]));
    const bytes = await this.read(target);
    await this.freeAll();
    return bytes;
  }

  async #launchJobs(name: HarnessFunction, packed: PackedJobs, grid: number, countCount = 0): Promise<BigUint64Array> {
    const jobs = await this.#device.allocate({ name: 'jobs', bytes: packed.bytes.length, alignmentBytes: 8 });
    const counts = await this.#device.allocate({
      name: 'counts',
      bytes: 8 * Math.max(1, countCount),
      alignmentBytes: 8,
    });
    await this.#device.write(jobs, packed.bytes);
    await this.#device.fill(counts, Uint8Array.of(0));
    const values = [pointer(jobs), whole(packed.jobCount), whole(packed.chunkCount)];
    if (countCount > 0) values.push(pointer(counts));
    const buffers = [jobs, counts, ...this.#targets.map(({ buffer }) => buffer)];
    await this.#run(this.#harness, HARNESS_FUNCTIONS[name], grid, HARNESS_BLOCK, buffers, values);
    const read = new BigUint64Array((await this.#device.read(counts)).slice().buffer);
    await this.#device.free(jobs);
    await this.#device.free(counts);
    return read.slice(0, countCount);
  }

  async #run(
    module: LoadedModule,
    functionName: string,
    grid: number,
    block: number,
    buffers: readonly DeviceBuffer[],
    values: readonly PlannedArgument[],
  ): Promise<void> {
    const plan: LaunchPlan = {
      buffers: buffers.map(({ name, bytes }) => ({
        name,
        role: 'inout',
        dtype: 'u8',
        shape: [bytes],
        strides: [1],
        bytes,
        alignmentBytes: 256,
      })),
      steps: [planLaunch({ functionName, grid, block, arguments: values })],
    };
    const named = new Map(buffers.map((buffer) => [buffer.name, buffer]));
    const options = { orderSeed: 0, count: false, timeoutMs: 60_000, instructionsPerCta: 1e9 };
    const outcome = await this.#device.run(module, plan, named, options);
    if (!outcome.ok) throw new Error(`${functionName}: ${outcome.status}: ${outcome.message}`);
  }
}

const pointer = ({ name }: DeviceBuffer): PlannedArgument => ({ kind: 'buffer', buffer: name, offsetBytes: 0 });
const whole = (value: number): PlannedArgument => ({ kind: 'scalar', dtype: 'u64', value });
