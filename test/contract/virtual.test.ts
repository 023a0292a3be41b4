import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Device } from '../../src/core/device.ts';
import { listDevices, openDevice } from '../../src/devices/open-device.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { compileCuda } from '../support/launch/compile-cuda.ts';
import { DEFAULT_RUN_OPTIONS, launchCode, loadCode, planLaunch } from '../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../support/launch/ptx-text.ts';
import { type ContractSubject, describeDeviceContract } from './device-contract.ts';

const subject = (id: string, threads: number): ContractSubject => ({
  open: () => openDevice(id, { threads }),
  compile: async (source, functions, device: Device) =>
    compileCuda(await createClangToolchain(), source, functions, 'contract.cu', device.spec.architecture),
});

describeDeviceContract('virtual:l4 on one thread', subject('virtual:l4', 1));
describeDeviceContract('virtual:h200 on two threads', subject('virtual:h200', 2));

it('every listed device can be opened and says what it is', async () => {
  for (const { id, name, kind } of listDevices()) {
    const device = await openDevice(id, { threads: 1 });
    expect(device.identity).toEqual({ id, name, kind });
    await device.close();
  }
});

/** Threads of this process, as the kernel counts them. */
const threadCount = (): number => Number(/^Threads:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]);

it.skipIf(process.platform !== 'linux')('close leaves no threads', async () => {
  // Threads of the devices before wait a second for another one.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const before = threadCount();
  const device = await openDevice('virtual:l4', { threads: 6 });
  await launchCode(device, moduleText(entry({ body: 'mov.u32 %r0, %tid.x;' })), { grid: 12 });
  expect(threadCount()).toBeGreaterThanOrEqual(before + 6);
  await device.close();
  // Helper threads of the engine end a little later than the workers they served.
  for (let i = 0; i < 500 && threadCount() > before; i++) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(threadCount()).toBeLessThanOrEqual(before);
});

it('a buffer larger than the device’s memory: how much there is', async () => {
  const device = await openDevice('virtual:l4', { threads: 1 });
  await device.allocate({ name: 'small', bytes: 1000, alignmentBytes: 16 });
  const allocated = device.allocate({ name: 'huge', bytes: 5 * 2 ** 30, alignmentBytes: 16 });
  await expect(allocated).rejects.toMatchObject({ details: { code: 'device-memory' } });
  await expect(allocated).rejects.toThrow(/huge does not fit: .* 1000 bytes are in use/);
  await device.close();
});

it('stores far apart in a large buffer cost what is stored, not what lies between', async () => {
  // Two threads: the stores of both are compared. 32 CTAs store one word each, 64 MiB apart.
  const device = await openDevice('virtual:l4', { threads: 2 });
  const module = await loadCode(
    device,
    moduleText(
      entry({
        parameters: ['u64 out'],
        body: `mov.u32 %r0, %ctaid.x; mul.wide.u32 %d0, %r0, ${64 << 20}; add.u64 %d1, %out, %d0; st.global.u32 [%d1], %r0;`,
      }),
    ),
  );
  const out = await device.allocate({ name: 'out', bytes: 2 ** 31, alignmentBytes: 256 });
  const plan = { buffers: [], steps: [planLaunch({ grid: 32, block: 1, arguments: ['out'] })] };
  expect(await device.run(module, plan, new Map([['out', out]]), DEFAULT_RUN_OPTIONS)).toMatchObject({ ok: true });
  expect(process.memoryUsage().rss).toBeLessThan(1.5 * 2 ** 30);
  await device.close();
});

it('a CTA count beyond what a launch order can hold is the device’s limit, not the kernel’s', async () => {
  const device = await openDevice('virtual:l4', { threads: 1 });
  const launch = launchCode(device, moduleText(entry({ body: '' })), { grid: [2 ** 31 - 1, 2, 1] });
  await expect(launch).rejects.toThrow(/unsupported: kernel.*CTAs/);
  await device.close();
});
