import { createHash } from 'node:crypto';
import type { Device } from '../../../src/core/device.ts';
import type { DeviceFailure, LoadedModule } from '../../../src/core/device-values.ts';
import { type KernelLaunch, planLaunch, ptxCode, trySteps } from '../../support/launch/launch-kernel.ts';

/** A stretch of `out` with a name, e.g. one set of operands. */
export interface Part {
  readonly name: string;
  readonly bytes: number;
}

/** Kernels whose bits a Hopper GPU was asked for. */
export interface RecordedCase {
  /** No two alike. */
  readonly name: string;
  /** What it belongs to: `wgmma`, `mma`, `tensor copies`, … */
  readonly family: string;
  readonly ptx: string;
  /** Contents, or sizes in bytes; drawn when the case runs. What the kernels leave in `out` counts. */
  readonly buffers: () => Readonly<Record<string, ArrayBufferView | number>>;
  readonly launches: readonly KernelLaunch[];
  /** They follow each other in `out`. */
  readonly parts: readonly Part[];
  /** How many bytes of each part are recorded beside its checksum. Default all. */
  readonly shownBytes?: number;
  /** Recorded, not yet modelled: what virtual:h200 says when it refuses the case. */
  readonly refusal?: RegExp;
  /** A GPU stops at it with an illegal instruction: what virtual:h200 says when it stops, too. */
  readonly mistake?: RegExp;
  /** Why the recording has nothing of the case as it is. */
  readonly waitsFor?: string;
}

export const outBytes = ({ parts }: Pick<RecordedCase, 'parts'>): number =>
  parts.reduce((sum, { bytes }) => sum + bytes, 0);

const contentsOf = (contents: ArrayBufferView | number): Uint8Array =>
  typeof contents === 'number'
    ? new Uint8Array(contents)
    : new Uint8Array(contents.buffer, contents.byteOffset, contents.byteLength);

/** Changes with all that a case's bits depend on. */
export function keyOf({ ptx, buffers, launches, parts }: RecordedCase): string {
  const hash = createHash('sha256').update(JSON.stringify([ptx, launches, parts]));
  for (const [name, contents] of Object.entries(buffers())) hash.update(name).update(contentsOf(contents));
  return hash.digest('hex').slice(0, 16);
}

/** Runs cases on a device. It keeps the last module, since neighbouring cases often share one. */
export class CaseRunner {
  readonly #device: Device;
  #loaded: { ptx: string; module: LoadedModule } | undefined;

  constructor(device: Device) {
    this.#device = device;
  }

  /** What `out` holds in the end. */
  async run(test: RecordedCase, timeoutMs: number): Promise<{ ok: true; out: Uint8Array } | DeviceFailure> {
    const loaded = await this.#load(test.ptx);
    if (!loaded.ok) return loaded;
    const { launches, buffers } = test;
    const given = { buffers: buffers(), options: { timeoutMs } };
    const outcome = await trySteps(this.#device, loaded.module, given, launches.map(planLaunch));
    if (outcome.ok) return { ok: true, out: outcome.contents.out! };
    // What failed may have ended the process that held the module.
    this.#loaded = undefined;
    return outcome;
  }

  async #load(ptx: string): Promise<{ ok: true; module: LoadedModule } | DeviceFailure> {
    if (this.#loaded?.ptx === ptx) return { ok: true, module: this.#loaded.module };
    if (this.#loaded) await this.#device.unload(this.#loaded.module);
    this.#loaded = undefined;
    const loaded = await this.#device.load({ ...ptxCode(ptx), architecture: 'sm_90a' });
    if (loaded.ok) this.#loaded = { ptx, module: loaded.module };
    return loaded;
  }
}
