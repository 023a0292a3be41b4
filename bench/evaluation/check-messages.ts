/**
 * What one run of a check costs beside the GPU's own work: messages to the GPU's process and milliseconds, over a driver that only keeps memory.
 *
 *     node bench/evaluation/check-messages.ts
 *
 * Four buffers as attention has them: three inputs and an output, of 512 bytes and of 512 KiB each. Each check is run twice, in the way of
 * verifications: in its own buffers, and in others with the least alignment.
 */
import { tallyBetween } from '../../src/core/device-tally.ts';
import type { LaunchPlan, PlannedBuffer } from '../../src/core/launch-plan.ts';
import { openCudaDevice } from '../../src/devices/cuda/open-cuda-device.ts';
import { FINITE_POISON, NAN_POISON } from '../../src/evaluation/launches/poison.ts';
import { allocateCheckMemory, runOnce } from '../../src/evaluation/launches/run-once.ts';
import { median } from '../../src/stats/quantile.ts';
import { loadCode, planLaunch } from '../../test/support/launch/launch-kernel.ts';
import { STUB_PTX, useStubCuda } from '../../test/support/stub-cuda/stub-cuda.ts';

const CHECKS = 60;
const SIZES = [512, 512 * 1024];

const stub = useStubCuda();
const device = await openCudaDevice(0);
const module = await loadCode(device, STUB_PTX);

const bufferOf = (name: string, role: 'in' | 'out', bytes: number): PlannedBuffer => ({
  ...{ name, role, bytes, alignmentBytes: 16, dtype: 'i32', shape: [bytes / 4], strides: [1] },
});

for (const bytes of SIZES) {
  const buffers = [...['Q', 'K', 'V'].map((name) => bufferOf(name, 'in', bytes)), bufferOf('O', 'out', bytes)];
  const launch = planLaunch({
    ...{ functionName: 'add_one', grid: [1, 1, 1], block: [1, 1, 1], arguments: ['Q', 'O', { i32: 1 }] },
  });
  const plan: LaunchPlan = { buffers, steps: [launch] };
  const contents = new Map(['Q', 'K', 'V'].map((name) => [name, new Uint8Array(bytes).fill(7)]));
  const runIn = async (minimumAlignment: boolean): Promise<void> => {
    const memory = await allocateCheckMemory(device, plan, contents, { minimumAlignment });
    const poison = minimumAlignment ? FINITE_POISON : NAN_POISON;
    const outcome = await runOnce(memory, module, { name: '', orderSeed: 0, poison, count: false, timeoutMs: 5000 });
    if (!outcome.ok) throw new Error(outcome.message);
    await memory.close();
  };
  const before = await device.tally();
  const times: number[] = [];
  for (let check = 0; check < CHECKS; check++) {
    const startMs = performance.now();
    await runIn(false);
    await runIn(true);
    times.push((performance.now() - startMs) / 2);
  }
  const { messages } = tallyBetween(before, await device.tally());
  const sent = Object.values(messages).reduce((sum, { count }) => sum + count, 0) / (2 * CHECKS);
  process.stdout.write(
    `${bytes} bytes a buffer: ${sent.toFixed(1)} messages and ${median(times).toFixed(2)} ms a run\n`,
  );
}
await device.close();
stub.close();
