import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { generateHarness } from '../../../../scripts/build-harness.ts';
import { HARNESS_FUNCTIONS } from '../../../../src/devices/cuda/harness/harness.ts';
import { HARNESS_PTX } from '../../../../src/devices/cuda/harness/harness-ptx.ts';
import { longTestOf } from '../../../support/sampling/long-tests.ts';

const ASSET = new URL('../../../../src/devices/cuda/harness/harness.ptx', import.meta.url);

longTestOf(import.meta.filename)('harness.ptx is what `npm run harness` makes of harness.cu', async (context) => {
  const checkedIn = await readFile(ASSET, 'utf8');
  const { text, compiler } = await generateHarness();
  const made = /^\/\/ Compiler: (.*), sm_80$/m.exec(checkedIn)?.[1];
  context.skip(compiler !== made, `made by ${made}; this machine has ${compiler}, which writes PTX another way`);
  expect(text).toBe(checkedIn);
  expect(checkedIn).toContain('npm run harness');
});

it('has every function, for drivers from 525 on', () => {
  const entries = [...HARNESS_PTX.matchAll(/\.visible \.entry (\w+)\(/g)].map((match) => match[1]!);
  expect(entries.sort()).toEqual(Object.values(HARNESS_FUNCTIONS).sort());
  // PTX 7.8 is what driver 520 brought.
  expect(HARNESS_PTX).toMatch(/^\.version 7\.8\n\.target sm_80\n/);
});

it('uses no approximate or flushing arithmetic: the same bits on every GPU', () => {
  expect(HARNESS_PTX).not.toMatch(/\.approx|\.ftz|\b(?:sin|cos|lg2|ex2|rsqrt)\./);
  // What the driver's compiler may fuse or not as it likes: a sum of a product, both without their rounding.
  const products = new Set([...HARNESS_PTX.matchAll(/\bmul\.f(?:32|64)\s+(%\w+)/g)].map((match) => match[1]!));
  const sums = [...HARNESS_PTX.matchAll(/\b(?:add|sub)\.f(?:32|64)\s+%\w+, (%?\w+), (%?\w+)/g)];
  expect(sums.filter(([, left, right]) => products.has(left!) || products.has(right!))).toEqual([]);
  expect(products.size).toBeGreaterThan(0);
});
