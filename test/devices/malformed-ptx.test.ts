import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/core/device.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { ptxCode } from '../support/launch/launch-kernel.ts';

let device: Device;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
});

afterAll(() => device.close());

const kernel = (body: string): string => `.version 7.8
.target sm_89
.address_size 64
.visible .entry k() {
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ${body}
  ret;
}
`;

/** How the device answers to running `body`, whether it finds out when loading or when launching. */
async function outcomeOf(body: string) {
  const loaded = await device.load(ptxCode(kernel(body)));
  if (!loaded.ok) return loaded;
  try {
    const step = {
      kind: 'launch',
      functionName: 'k',
      grid: [1, 1, 1],
      block: [32, 1, 1],
      dynamicSharedBytes: 0,
      cooperative: false,
      programmaticDependent: false,
      arguments: [],
    } as const;
    const plan = { buffers: [], steps: [step] };
    return await device.run(loaded.module, plan, new Map(), { orderSeed: 0, count: false, timeoutMs: 10_000 });
  } finally {
    await device.unload(loaded.module);
  }
}

describe('PTX that no assembler accepts', () => {
  it.each([
    ['operands of the wrong size', 'add.s64 %rd1, %r1, %rd2; st.global.b64 [%rd1], %rd1;'],
    ['an undeclared register', 'mov.b32 %r1, %x9; st.shared.b32 [%r1], %r1;'],
    ['a missing operand', 'add.s32 %r1, %r2; st.shared.b32 [%r1], %r1;'],
    ['a label that does not exist', 'bra $nowhere;'],
  ])('%s ends in a status and a reason, not in an exception', async (_, body) => {
    const outcome = await outcomeOf(body);
    expect(outcome.ok).toBe(false);
    if (!outcome.ok) {
      expect(['unsupported', 'invalid', 'unsafe']).toContain(outcome.status);
      expect(outcome.message).not.toBe('');
    }
  });

  it('leaves the device usable', async () => {
    await outcomeOf('add.s64 %rd1, %r1, %rd2; st.global.b64 [%rd1], %rd1;');
    expect(await outcomeOf('mov.b32 %r1, 1;')).toMatchObject({ ok: true });
  });
});
