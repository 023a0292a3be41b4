import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CompiledCode } from '../../../../src/core/compiled-code.ts';
import type { Device } from '../../../../src/core/device.ts';
import type { ConditionCoverage } from '../../../../src/core/evaluation.ts';
import { openDevice } from '../../../../src/devices/open-device.ts';
import { conditionCoverage } from '../../../../src/evaluation/verify/one-way-conditions.ts';
import { createClangToolchain } from '../../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../../support/launch/compile-cuda.ts';
import { launchKernel, loadCode } from '../../../support/launch/launch-kernel.ts';

const FILE = 'kernels.cu';
const SOURCE = readFileSync(path.join(import.meta.dirname, FILE), 'utf8');

let devices: Device[];
let code: CompiledCode;

beforeAll(async () => {
  devices = await Promise.all([1, 3].map((threads) => openDevice('virtual:l4', { threads })));
  code = await compileCuda(await createClangToolchain(), SOURCE, functionsIn(SOURCE), FILE);
});

afterAll(async () => {
  for (const device of devices ?? []) await device.close();
});

/** Odd elements are 1, others between -2 and 2. */
const x = Float32Array.from({ length: 64 }, (_, i) => (i % 2 === 1 ? 1 : ((i * 37) % 64) / 16 - 2.03));

async function coverageOf(
  functionName: string,
  options: object = {},
  device = devices[0]!,
  grid = 1,
  of: { inputsAreFinite?: boolean } = {},
): Promise<ConditionCoverage> {
  const module = await loadCode(device, code);
  await launchKernel(device, module, {
    ...{ functionName, grid, block: 64, options },
    arguments: ['x', 'y', { i32: 40 }, { i32: 7 }],
    buffers: { x, y: 65 * 4 },
  });
  const coverage = conditionCoverage(device.decisions!(module), { [FILE]: SOURCE }, of);
  await device.unload(module);
  return coverage;
}

const told = ({ oneWay }: ConditionCoverage): string[] => oneWay.map(({ text, was }) => `${text.split(';')[0]} ${was}`);

describe('conditions of a source', () => {
  it('that depend on loaded values say so; those of arguments and threads do not', async () => {
    const { oneWay } = await coverageOf('guards');
    const ofValues = oneWay.filter(({ isOfValues }) => isOfValues).map(({ text }) => text);
    expect(ofValues.length).toBeGreaterThanOrEqual(3);
    for (const text of ofValues) expect(text).toMatch(/\bv\b/);
    expect(oneWay.some(({ text, isOfValues }) => text.includes('limit <= 7') && !isOfValues)).toBe(true);
  });

  it.each([{}, { count: true }, { findRaces: true }, { orderSeed: 3 }])(
    'that went one way, with %o',
    async (options) => {
      expect(told(await coverageOf('guards', options))).toEqual([
        'if (v > 1e6f) v = 0.0f never-true',
        'if (!(v <= 2e6f)) v *= 3.0f never-false',
        'if (v < 1e5f) v = v * 2.0f + 1.0f never-false',
        'if (n % 89 == 17) v += 5.0f never-true',
        'if (limit <= 7) v -= 1.0f never-false',
        'if (9 >= limit) v *= 0.5f never-false',
        'if (limit) v *= 1.5f never-false',
        'v = fminf(v, 600.0f) never-true',
      ]);
    },
  );

  it('of loops went both ways, whatever the compiler makes of the loop', async () => {
    expect(told(await coverageOf('loops'))).toEqual([]);
  });

  it('of divisions are the compiler’s: it asks whether 32 bits are enough', async () => {
    expect(told(await coverageOf('divides'))).toEqual([]);
  });

  it('count once, however often they were unrolled, but for each place that a function is called at', async () => {
    const coverage = await coverageOf('copies');
    expect(told(coverage)).toEqual(['if (v > most) return most never-true']);
    expect(coverage.oneWay[0]!.constant).toBe(1e4);
  });

  it('of several parts are one: some of the parts may hold together', async () => {
    const { oneWay } = await coverageOf('together');
    const kinds = oneWay.map(({ kind, was, isOfLaunch }) => ({ kind, was, isOfLaunch }));
    expect(kinds).toContainEqual({ kind: 'combination', was: 'never-true', isOfLaunch: true });
  });

  it('on volatile loads depend on values, unless only the kernel itself counts there', async () => {
    const { oneWay } = await coverageOf('strong');
    const dependence = oneWay.map(({ text, isOfValues, isOfLaunch }) => [text, isOfValues, isOfLaunch]);
    expect(dependence).toEqual([
      [expect.stringContaining('sight['), true, undefined],
      [expect.stringContaining('arrived)'), undefined, undefined],
    ]);
    const through = await coverageOf('passed_on');
    expect(through.oneWay).toMatchObject([{ text: expect.stringContaining('place[63'), isOfValues: true }]);
  });

  it('on infinities say so where inputs have none', async () => {
    const found = (inputsAreFinite: boolean) => coverageOf('infinities', {}, devices[0]!, 1, { inputsAreFinite });
    expect((await found(true)).oneWay).toMatchObject([{ isOfValues: true, isOfInfinity: true, was: 'never-true' }]);
    expect((await found(false)).oneWay[0]).not.toHaveProperty('isOfInfinity', true);
  });

  it('that nothing reached are said to be so, and those of library functions are left out', async () => {
    const coverage = await coverageOf('unreached');
    expect(told(coverage)).toEqual(['if (limit > 100) { never-true', 'if (v > 3.0f) atomicAdd(y, v) never-reached']);
    expect(coverage.libraryDecisions).toBeGreaterThan(0);
  });

  it('are not taken for what a compiler asks at an operand, as in `sum == 0.0f ? 0.0f : x / sum`', async () => {
    expect((await coverageOf('guarded')).oneWay.map(({ was }) => was)).not.toContain('never-true');
  });

  it('are none where a maximum starts at -infinity', async () => {
    expect(told(await coverageOf('unbounded'))).toEqual([]);
  });

  it('are judged by the lanes that reach them', async () => {
    expect(told(await coverageOf('parted'))).toEqual(['if (v == 1.0f) y[threadIdx.x] = 7.0f never-true']);
  });

  it('are the same on several threads', async () => {
    for (const functionName of functionsIn(SOURCE))
      expect(await coverageOf(functionName, {}, devices[1], 5)).toEqual(
        await coverageOf(functionName, {}, devices[0], 5),
      );
  });
});
