import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadProblem } from '../../../src/app/loading/load-problem.ts';
import type { Device } from '../../../src/core/device.ts';
import type { BufferDeclaration, Problem } from '../../../src/core/problem.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { describeCheck } from '../../../src/evaluation/oracle/check.ts';
import { shapeChecks } from '../../../src/evaluation/oracle/checks/listed.ts';
import { createDeviceReference } from '../../../src/evaluation/oracle/device-reference.ts';
import { createExpectationCache, prepareCheck } from '../../../src/evaluation/oracle/expectation-cache.ts';
import { type DeviceReference, expectationsFor } from '../../../src/evaluation/oracle/expectations.ts';
import { runHostReference } from '../../../src/evaluation/oracle/reference-runs.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { attentionProblem } from '../../support/attention-problem.ts';
import { longTestOf } from '../../support/sampling/long-tests.ts';
import { sampled } from '../../support/sampling/matrix.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const ATTENTION = path.resolve(import.meta.dirname, '../../../problems/attention');

let device: Device;
let deviceReference: DeviceReference;
let problem: Problem;

beforeAll(async () => {
  problem = await loadProblem(ATTENTION);
  device = await openDevice('virtual:h200');
  deviceReference = createDeviceReference({ device, toolchain: await createClangToolchain() });
});

afterAll(async () => {
  await deviceReference?.close();
  await device?.close();
});

describe('the device reference of attention', () => {
  const checks = shapeChecks(attentionProblem().file);

  const named = checks.map((check) => [describeCheck(check), check] as const);
  sampled('checks of attention by its device reference', named, {
    oneIn: 12,
    placeOf: () => 'problems/attention/problem.json',
  })('agrees with reference.ts: %s', async (_, { dimensions, generatorSet }) => {
    const { buffers, inputs } = prepareCheck({ problem, dimensions, generatorSet, seed: 1 });
    const host = await runHostReference(problem, buffers, inputs.tensors, dimensions);
    const runs = (await deviceReference.run({ problem, dimensions, inputs: inputs.bytes }))!;
    const oracle = runs.oracle.O!;
    // Only the order of float64 sums and the last bit of exp differ.
    const largest = Math.max(...host.oracle.O!.map(Math.abs));
    const error = Math.max(...host.oracle.O!.map((value, i) => Math.abs(value - oracle[i]!)));
    expect(error).toBeLessThanOrEqual(1e-13 * largest);
  });

  longTestOf(import.meta.filename)('gives the same tolerances', async () => {
    const { dimensions, generatorSet } = checks.at(-1)!;
    const { inputs } = prepareCheck({ problem, dimensions, generatorSet, seed: 1 });
    const request = { problem, dimensions, inputs: inputs.bytes };
    const host = (await expectationsFor(request)).get('O')!;
    const onDevice = (await expectationsFor({ ...request, deviceReference })).get('O')!;
    const ratios = host.tolerances.map((tolerance, i) => onDevice.tolerances[i]! / tolerance);
    expect(Math.max(...ratios)).toBeLessThan(1.01);
    expect(Math.min(...ratios)).toBeGreaterThan(0.99);
    expect(onDevice.rmsLimit! / host.rmsLimit!).toBeCloseTo(1, 3);
  });

  it('is loaded again after its device has failed', async () => {
    const { dimensions, generatorSet } = checks[0]!;
    const { inputs } = prepareCheck({ problem, dimensions, generatorSet, seed: 1 });
    let [loads, runs] = [0, 0];
    const failing: Device = new Proxy(device, {
      get: (target, name: keyof Device) => {
        if (name === 'load') {
          loads += 1;
          return (...code: Parameters<Device['load']>) => target.load(...code);
        }
        if (name === 'run' && runs++ === 0) {
          return async () => ({ ok: false, status: 'timed-out', message: 'too slow, once' });
        }
        const value = target[name];
        return typeof value === 'function' ? (value as (...list: unknown[]) => unknown).bind(target) : value;
      },
    });
    const reference = createDeviceReference({ device: failing, toolchain: await createClangToolchain() });
    const request = { problem, dimensions, inputs: inputs.bytes };
    await reference.prepare!(problem);
    expect(loads).toBe(1);
    await expect(reference.run(request)).rejects.toThrow('too slow, once');
    expect((await reference.run(request))!.oracle.O).toBeDefined();
    expect(loads).toBe(2);
    await reference.close();
  });

  it('is given back its memory', async () => {
    const { dimensions, generatorSet } = checks[0]!;
    const { inputs } = prepareCheck({ problem, dimensions, generatorSet, seed: 1 });
    const live = new Set<unknown>();
    const counting: Device = new Proxy(device, {
      get: (target, name: keyof Device) => {
        if (name === 'allocate') {
          return async (...request: Parameters<Device['allocate']>) => {
            const buffer = await target.allocate(...request);
            live.add(buffer);
            return buffer;
          };
        }
        if (name === 'free') {
          return async (buffer: Parameters<Device['free']>[0]) => {
            live.delete(buffer);
            await target.free(buffer);
          };
        }
        const value = target[name];
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const reference = createDeviceReference({ device: counting, toolchain: await createClangToolchain() });
    expect(await reference.run({ problem, dimensions, inputs: inputs.bytes })).toBeDefined();
    await reference.close();
    expect(live.size).toBe(0);
  });
});

describe('expectations', () => {
  const dimensions = { R: 3, C: 17 };
  const { inputs } = prepareCheck({ problem: toyProblem(), dimensions, seed: 1, generatorSet: 'normal' });

  it('come from reference.ts where a problem has no device reference', async () => {
    const request = { problem: toyProblem(), dimensions, inputs: inputs.bytes };
    expect(await deviceReference.run(request)).toBeUndefined();
    expect(await expectationsFor({ ...request, deviceReference })).toEqual(await expectationsFor(request));
  });

  it('of strided inputs are those of their elements', async () => {
    const X: BufferDeclaration = { dtype: 'f16', shape: ['R', 'C'], strides: ['C + 1', 1], access: 'in' };
    const strided = toyProblem({ inputs: { X, W: toyProblem().file.inputs.W! } });
    const drawn = prepareCheck({ problem: strided, dimensions, seed: 1, generatorSet: 'normal' });
    const request = { problem: strided, dimensions, inputs: drawn.inputs.bytes };
    expect(await expectationsFor(request)).toEqual(await drawn.expectations());
  });

  it('of the oracle come from the device reference for large shapes only', async () => {
    const asked: number[] = [];
    const spy: DeviceReference = {
      run: async ({ dimensions: { R } }) => {
        asked.push(R!);
        return undefined;
      },
      close: async () => {},
    };
    const oracle = createExpectationCache({ deviceReference: spy });
    const key = { problem: toyProblem({ flop: '1e8 * R' }), seed: 1, generatorSet: 'normal' };
    await oracle.check({ ...key, dimensions: { R: 9, C: 2 } }).expectations();
    await oracle.check({ ...key, dimensions: { R: 10, C: 2 } }).expectations();
    expect(asked).toEqual([10]);
  });
});
