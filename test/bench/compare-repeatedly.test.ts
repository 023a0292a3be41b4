import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { calibrationOf, LOOP_KERNEL } from '../../bench/measuring/calibration.ts';
import { compareRepeatedly } from '../../bench/measuring/compare-repeatedly.ts';
import { type Bench, openPair } from '../../bench/measuring/open-bench.ts';
import type { SelfComparisons } from '../../scripts/results/measuring-recordings.ts';
import type { LaunchPlan } from '../../src/core/launch-plan.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { createDeviceReference } from '../../src/evaluation/oracle/device-reference.ts';
import { createExpectationCache } from '../../src/evaluation/oracle/expectation-cache.ts';
import { createToolchain } from '../../src/toolchains/create-toolchain.ts';
import { withMeasuring } from '../support/measuring-device.ts';

const WORKLOAD = 'N=32,STEPS=3200';
const NS_PER_STEP = 40;

/** Forward and backward steps of the loop, read off its arguments: what a clock would see. */
const stepsOf = ({ steps: [step] }: LaunchPlan): number =>
  step?.kind === 'launch'
    ? step.arguments.slice(3, 5).reduce((sum, argument) => sum + (argument.kind === 'scalar' ? argument.value : 0), 0)
    : Number.NaN;

let bench: Bench;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'warpsmith-bench-'));
  const device = withMeasuring(await openDevice('virtual:h200', { threads: 1 }), {
    sequenceNs: (plan) => NS_PER_STEP * stepsOf(plan),
    l2Bytes: 4096,
  });
  const toolchain = await createToolchain({ target: 'virtual' });
  const deviceReference = createDeviceReference({ device, toolchain });
  const { disagree } = createExpectationCache();
  bench = { device, toolchain, deviceReference, disagree, [Symbol.asyncDispose]: () => device.close() };
});

afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const record = async (name: string, extra: number, count: number): Promise<SelfComparisons> => {
  const pair = await openPair(bench, {
    kernel: LOOP_KERNEL,
    workload: WORKLOAD,
    candidate: { EXTRA_PERMILLE: extra },
    baseline: { EXTRA_PERMILLE: 0 },
  });
  const options = { device: 'virtual:h200', output: join(folder, name), count, minutes: 10, seed: 1 };
  return compareRepeatedly<SelfComparisons>(bench, pair, options, async () => ({}));
};

describe('the loop of known ratio, on a clock that counts its steps', () => {
  test('is called slower, by 3 %, and is right both ways: outputs are compared with the oracle', async () => {
    const { comparisons, failures } = await record('slower.json', 30, 1);
    expect(failures).toEqual([]);
    expect(comparisons[0]).toMatchObject({ verdict: 'slower', blockCount: 10 });
    expect(1 / comparisons[0]!.ratio).toBeCloseTo(1.03, 9);
  });

  test('against itself is called the same; a recording is continued where it stopped', async () => {
    const first = await record('same.json', 0, 1);
    const second = await record('same.json', 0, 2);
    expect(second.comparisons).toHaveLength(2);
    expect(second.comparisons[0]).toEqual(first.comparisons[0]);
    expect(second.comparisons.map(({ verdict }) => verdict)).toEqual(['same', 'same']);
    expect(JSON.parse(await readFile(join(folder, 'same.json'), 'utf8'))).toEqual(second);
  });
});

test('a calibration takes what is fixed off the ratio: 1.03 of 129 µs, where 1 µs of 130 is fixed', () => {
  const calibration = calibrationOf({
    long: { ratio: 1 / 1.03, intervalRatio: [1 / 1.031, 1 / 1.029] },
    shortNs: 130_000,
    doubleNs: 259_000,
  });
  expect(calibration.fixedNs).toBe(1000);
  expect(calibration.longIntervalRatio[0]).toBeCloseTo(1.029, 12);
  expect(calibration.longIntervalRatio[1]).toBeCloseTo(1.031, 12);
  expect(calibration.trueRatio).toBeCloseTo((1.03 * 129 + 1) / 130, 12);
});
