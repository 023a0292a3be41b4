import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { planLaunches } from '../../../src/evaluation/launches/plan-launches.ts';
import { NAN_POISON } from '../../../src/evaluation/launches/poison.ts';
import { allocateCheckMemory, runOnce } from '../../../src/evaluation/launches/run-once.ts';
import { DECLARED } from '../../../src/evaluation/oracle/check.ts';
import { drawInputs } from '../../../src/evaluation/oracle/draw-inputs.ts';
import { DEVICE_SPECS } from '../../../src/hardware/device-specs.ts';
import { createFakeDevice } from '../../support/fake-device.ts';
import { createFakeToolchain } from '../../support/fake-toolchain.ts';
import { honest, toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

const REQUESTS = ['allocate', 'free', 'write', 'fill', 'read', 'damagedGuardBytes', 'run'] as const;

it('a run of a check waits for the device a few times, however many requests it is', async () => {
  const fake = createFakeDevice({ kernel: honest });
  const inFlight: string[] = [];
  let [waits, requests] = [0, 0];
  /** As a process that answers one request after the other. */
  const slowly = (name: (typeof REQUESTS)[number]) => {
    const act = fake[name].bind(fake) as (...args: unknown[]) => Promise<unknown>;
    return async (...args: unknown[]) => {
      requests += 1;
      if (inFlight.length === 0) waits += 1;
      inFlight.push(name);
      await setImmediate();
      try {
        return await act(...args);
      } finally {
        inFlight.splice(inFlight.indexOf(name), 1);
      }
    };
  };
  const device: Device = { ...fake, ...Object.fromEntries(REQUESTS.map((name) => [name, slowly(name)])) };
  const problem = toyProblem();
  const { dimensions } = toyWorkload;
  const candidate = toyCandidate();
  const plan = planLaunches({ problem, candidate, dimensions, spec: DEVICE_SPECS.get('l4')! });
  const { bytes } = drawInputs({ problem, buffers: plan.buffers, dimensions, seed: 1, generatorSet: DECLARED });
  const compiled = await createFakeToolchain().compile({ candidate, architecture: 'sm_89' });
  const loaded = await fake.load((compiled as Extract<typeof compiled, { ok: true }>).code);
  const memory = await allocateCheckMemory(device, plan, bytes);
  const conditions = { name: 'run', orderSeed: 0, poison: NAN_POISON, count: false, timeoutMs: 1000 };
  const outcome = await runOnce(memory, (loaded as Extract<typeof loaded, { ok: true }>).module, conditions);
  expect(outcome).toMatchObject({ ok: true });
  await memory.close();
  expect(fake.liveBuffers.size).toBe(0);
  // Three buffers: allocate, write, poison, run, read and look at guards, free.
  expect(requests).toBe(3 + 2 + 1 + 1 + 6 + 3);
  expect(waits).toBeLessThanOrEqual(7);
});
