import { afterAll, beforeAll, expect } from 'vitest';
import { loadRung, rungFolders } from '../../../bench/virtual-gpu/rungs.ts';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Device } from '../../../src/core/device.ts';
import type { DeviceBuffer, LoadedModule } from '../../../src/core/device-values.ts';
import type { LaunchPlan, PlannedLaunch } from '../../../src/core/launch-plan.ts';
import { BUFFER_PAGE_BYTES, NAN_BYTE, type PagedBuffer } from '../../../src/core/paged-buffer.ts';
import { resolveWorkload } from '../../../src/core/plan/resolve-workload.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { planLaunches } from '../../../src/evaluation/launches/plan-launches.ts';
import { drawInputs } from '../../../src/evaluation/oracle/draw-inputs.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import type { Toolchain } from '../../../src/toolchains/toolchain.ts';
import { loadCode } from '../../support/launch/launch-kernel.ts';
import { sampled } from '../../support/sampling/matrix.ts';

let toolchain: Toolchain;
const devices = new Map<string, Device>();

beforeAll(async () => {
  toolchain = await createClangToolchain();
  for (const id of ['virtual:l4', 'virtual:h200']) devices.set(id, await openDevice(id, { threads: 1 }));
});

afterAll(async () => {
  for (const device of devices.values()) await device.close();
});

/** Kernels with atomics or flags, bulk or tensor copies, or clusters: from attention/10_resident on all but one. */
const NOT_IN_PAGES = [
  /attention\/(07_queue|1[013-9]_|2\d_)/,
  /histogram\//,
  /reduction\/0[1-3]_/,
  /scan\/04_look_back/,
];

/** What the first launch of a plan leaves in each buffer when it is run as usual. */
async function runUsual(
  device: Device,
  module: LoadedModule,
  plan: LaunchPlan,
  step: PlannedLaunch,
  contents: readonly Required<PagedBuffer>[],
): Promise<Map<string, Uint8Array>> {
  const buffers = new Map<string, DeviceBuffer>();
  for (const { name, bytes, period } of contents) {
    buffers.set(name, await device.allocate({ name, bytes, alignmentBytes: 256 }));
    await device.write(buffers.get(name)!, period);
  }
  const options = { orderSeed: 0, count: false, timeoutMs: 60_000 };
  const outcome = await device.run(module, { ...plan, steps: [step] }, buffers, options);
  if (!outcome.ok) throw new Error(outcome.message);
  const left = new Map<string, Uint8Array>();
  for (const [name, buffer] of buffers) {
    left.set(name, await device.read(buffer));
    await device.free(buffer);
  }
  return left;
}

sampled('kernels in pages', rungFolders(), { oneIn: 12 })(
  '%s leaves in pages what it leaves as usual',
  async (folder) => {
    const { kernel, problem, workload, device: id } = await loadRung(folder);
    const device = devices.get(id)!;
    const candidate = makeCandidate(kernel, {});
    const compiled = await toolchain.compile({ candidate, architecture: device.spec.architecture });
    if (!compiled.ok) throw new Error(compiled.message);
    const module = await loadCode(device, compiled.code);
    const { dimensions } = resolveWorkload(problem.file, workload);
    const plan = planLaunches({ problem, candidate, dimensions, spec: device.spec, module });
    const step = plan.steps.find((one) => one.kind === 'launch')!;
    const { bytes: inputs } = drawInputs({
      problem,
      buffers: plan.buffers,
      dimensions,
      seed: 1,
      generatorSet: 'declared',
    });
    const contents = plan.buffers.map(({ name, bytes }) => ({
      name,
      bytes,
      period: inputs.get(name) ?? new Uint8Array(bytes).fill(NAN_BYTE),
    }));
    const outcome = await device.runPaged!(module, step, contents, { sampleCtas: 1e9, timeoutMs: 60_000 });
    expect(outcome === undefined).toBe(NOT_IN_PAGES.some((names) => names.test(folder)));
    if (!outcome) return;
    if (!outcome.ok) throw new Error(outcome.message);
    const usual = await runUsual(device, module, plan, step, contents);
    for (const { name, period } of contents) {
      const left = period.slice();
      for (const [page, own] of outcome.pages.get(name)!) left.set(own, page * BUFFER_PAGE_BYTES);
      expect(Buffer.compare(left, usual.get(name)!), name).toBe(0);
    }
    await device.unload(module);
  },
);
