import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSession, type Session } from '../../src/app/session.ts';
import { listDevices } from '../../src/devices/open-device.ts';
import { FAULT_TIMEOUT_SECONDS, faults, judgeFault } from './judge-fault.ts';

const GPU = 'cuda:0';
const hasGpu = listDevices().some(({ id }) => id === GPU);

let session: Session;

beforeAll(async () => {
  if (hasGpu) session = await openSession({ device: GPU, runTimeoutSeconds: FAULT_TIMEOUT_SECONDS });
});

afterAll(async () => {
  await session?.[Symbol.asyncDispose]();
});

describe.skipIf(!hasGpu)(`faulty kernels on ${GPU} (skipped without an NVIDIA GPU)`, () => {
  // Each with seeds of its own: the honest kernel is verified anew every time.
  const cases = faults().map((name, index) => ({ name, seed: 1 + index }));

  it.each(cases)('$name is reported as what it is, and the next evaluation is right', async ({ name, seed }) => {
    const { disagreements } = await judgeFault(session.evaluator, name, { kind: 'cuda', workload: 'large', seed });
    expect(disagreements).toEqual([]);
  });
});
