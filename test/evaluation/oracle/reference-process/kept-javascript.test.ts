import { mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { keptJavaScript } from '../../../../src/evaluation/oracle/reference-process/kept-javascript.ts';
import { nodeProgram } from '../../../../src/evaluation/oracle/reference-process/node-program.ts';
import { hostReference } from '../../../../src/evaluation/oracle/reference-process/reference-host.ts';

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'warpsmith-kept-')));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const module = async (name: string, text: string): Promise<string> => {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
};

it('is stripped once for each text, and again when what was kept is damaged', async () => {
  const kept = join(folder, 'kept');
  const strip = vi.fn(async (text: string) => stripTypeScriptTypes(text));
  const file = await module('one.ts', 'export const one: number = 1;');
  const text = 'export const one         = 1;';
  expect(await keptJavaScript(file, strip, kept)).toBe(text);
  expect(await keptJavaScript(await module('same.ts', 'export const one: number = 1;'), strip, kept)).toBe(text);
  expect(strip).toHaveBeenCalledTimes(1);

  const [name] = await readdir(kept);
  await writeFile(join(kept, name!), 'export const one = 2;');
  expect(await keptJavaScript(file, strip, kept)).toBe(text);
  expect(strip).toHaveBeenCalledTimes(2);

  await writeFile(file, 'export const one: number = 3;');
  expect(await keptJavaScript(file, strip, kept)).toContain('= 3;');
});

it('is the file itself where it is no TypeScript, and where it can’t be stripped', async () => {
  const strip = vi.fn(async () => undefined);
  const file = await module('two.ts', 'enum Two { A }');
  expect(await keptJavaScript(file, strip, join(folder, 'none'))).toBeUndefined();
  expect(strip).toHaveBeenCalledTimes(1);
  for (const absent of [await module('two.js', 'export {};'), join(folder, 'nowhere.ts')])
    expect(await keptJavaScript(absent, async () => 'stripped', join(folder, 'none'))).toBeUndefined();
});

it('is what a process loads: it computes the same, and tells the same places', async () => {
  const lines = [
    'type Tensors = Record<string, Float64Array>;',
    'export const reference = ({ X }: Tensors, { N }: Record<string, number>): Tensors => {',
    '  const first: number = (X as Float64Array)[0]!; if (first < 0) throw new RangeError(String(N));',
    '  return { Y: Float64Array.of(first * 2) };',
    '};',
  ];
  const path = `3:${lines[2]!.indexOf('new ') + 1}`;
  const file = await module('reference.ts', lines.join('\n'));
  const run = (first: number) =>
    hostReference({ problem: 'twice', file, folder, program: nodeProgram })({
      ...{ inputs: { X: Float64Array.of(first) }, dimensions: { N: 7 }, rounding: 'exact' },
    });
  for (const _ of ['stripped now', 'kept']) {
    expect(await run(4)).toEqual({ Y: Float64Array.of(8) });
    await expect(run(-1)).rejects.toMatchObject({ details: { path, received: expect.stringContaining('7') } });
  }
});
