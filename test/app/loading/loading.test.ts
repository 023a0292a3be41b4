import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { loadProblem } from '../../../src/app/loading/load-problem.ts';
import type { ReferenceTensors } from '../../../src/core/problem.ts';
import { rejectionOf } from '../../core/support/expect-error.ts';
import { edited, smallKernel, smallProblem } from '../../core/support/small-problem.ts';

const REFERENCE = `

export const reference = (inputs: { x: Float64Array }) => ({ y: inputs.x.map((value) => 2 * value) });
`;

let root: string;
let problemFolder: string;
let kernelFolder: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'warpsmith-loading-')));
  problemFolder = join(root, 'scale');
  kernelFolder = join(problemFolder, '01_minimal');
  await mkdir(kernelFolder, { recursive: true });
  await writeFile(join(problemFolder, 'problem.json'), JSON.stringify(smallProblem));
  await writeFile(join(problemFolder, 'reference.ts'), REFERENCE);
  await writeFile(join(kernelFolder, 'kernel.json'), JSON.stringify(smallKernel));
  await writeFile(join(kernelFolder, 'kernel.cu'), '__global__ void scale() {}');
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const writeKernel = (path: readonly (string | number)[], value: unknown) =>
  writeFile(join(kernelFolder, 'kernel.json'), edited(smallKernel, path, value));

const runOn = (inputs: ReferenceTensors) => ({ inputs, dimensions: {}, rounding: 'exact' as const });

describe('loadProblem', () => {
  it('reads problem.json and runs reference.ts', async () => {
    const problem = await loadProblem(problemFolder);
    expect(problem.folder).toBe(problemFolder);
    expect(problem.file.workloads[0]!.dimensions).toEqual({ N: 256, D: 64, causal: 0 });
    expect(await problem.reference(runOn({ x: Float64Array.of(1, 2) }))).toEqual({ y: Float64Array.of(2, 4) });
  });

  it('takes the path of problem.json as well', async () => {
    expect((await loadProblem(join(problemFolder, 'problem.json'))).folder).toBe(problemFolder);
  });

  it('imports an edited reference anew', async () => {
    await loadProblem(problemFolder);
    await writeFile(join(problemFolder, 'reference.ts'), REFERENCE.replace('2 *', '3 *'));
    const { reference } = await loadProblem(problemFolder);
    expect(await reference(runOn({ x: Float64Array.of(1) }))).toEqual({ y: Float64Array.of(3) });
  });

  it('takes reference.js under node_modules, where Node strips no types', async () => {
    const installed = join(root, 'node_modules', 'warpsmith', 'problems', 'scale');
    await cp(problemFolder, installed, { recursive: true });
    expect(await rejectionOf(loadProblem(installed))).toMatchObject({
      code: 'missing-file',
      file: join(installed, 'reference.js'),
      expected: 'reference.ts or reference.py, which has a function `reference`',
    });
    await writeFile(join(installed, 'reference.js'), 'export const reference = () => ({ y: Float64Array.of(7) });');
    const { reference } = await loadProblem(installed);
    expect(await reference(runOn({}))).toEqual({ y: Float64Array.of(7) });
  });

  it('says which folder is missing', async () => {
    expect(await rejectionOf(loadProblem(join(root, 'attention')))).toEqual({
      code: 'no-such-folder',
      message: `There is no folder ${join(root, 'attention')}.`,
      file: join(root, 'attention'),
      received: 'nothing there',
      expected: 'a problem folder with problem.json and a reference',
      hint: 'Check the path.',
    });
  });

  it('says when a file stands where a folder should', async () => {
    expect(await rejectionOf(loadProblem(join(kernelFolder, 'kernel.cu')))).toEqual({
      code: 'not-a-folder',
      message: `${join(kernelFolder, 'kernel.cu')} is not a folder.`,
      file: join(kernelFolder, 'kernel.cu'),
      received: 'a file',
      expected: 'a problem folder with problem.json and a reference',
      hint: `Did you mean ${kernelFolder}?`,
    });
  });

  it('says which file is missing', async () => {
    expect(await rejectionOf(loadProblem(kernelFolder))).toEqual({
      code: 'missing-file',
      message: `There is no file ${join(kernelFolder, 'problem.json')}.`,
      file: join(kernelFolder, 'problem.json'),
      received: 'nothing there',
      expected: 'a problem folder with problem.json',
      hint: 'A kernel folder (kernel.json) is not a problem folder; the problem is usually its parent.',
    });
  });

  it('gives wrong JSON its line and column', async () => {
    await writeFile(join(problemFolder, 'problem.json'), '{\n  "name": "scale",\n}');
    expect(await rejectionOf(loadProblem(problemFolder))).toEqual({
      code: 'invalid-json',
      message: 'Not valid JSON (line 3, column 1).',
      file: join(problemFolder, 'problem.json'),
      path: '3:1',
      received: '}',
      expected: 'a key in double quotes',
      hint: 'Remove the comma before the closing bracket.',
    });
  });

  it('says when the reference is missing, not exported, or does not load', async () => {
    const file = join(problemFolder, 'reference.ts');
    await rm(file);
    expect(await rejectionOf(loadProblem(problemFolder))).toMatchObject({ code: 'missing-file', file });
    await writeFile(file, 'export const referense = () => ({});');
    const running = async () => (await loadProblem(problemFolder)).reference(runOn({}));
    expect(await rejectionOf(running())).toEqual({
      code: 'missing-reference',
      message: `${file} has no function \`reference\`.`,
      file,
      received: 'exports referense',
      expected: 'export const reference: ReferenceFunction = (inputs, dimensions, round) => …',
      hint: 'problems/attention/reference.ts is an example.',
    });
    await writeFile(file, 'throw new RangeError("out of luck");');
    expect(await rejectionOf(running())).toMatchObject({
      code: 'reference-failed',
      message: `${file} can't be loaded: out of luck`,
      file,
      received: 'RangeError',
    });
  });
});

describe('loadKernel', () => {
  it('reads kernel.json, its sources, and the problem', async () => {
    await writeFile(join(kernelFolder, 'tile.cuh'), '#pragma once');
    await writeKernel(['source', 'includes'], ['tile.cuh']);
    const { kernel, problem } = await loadKernel(kernelFolder);
    expect(kernel.folder).toBe(kernelFolder);
    expect(kernel.file.name).toBe('01_minimal');
    expect(kernel.sources).toEqual({ 'kernel.cu': '__global__ void scale() {}', 'tile.cuh': '#pragma once' });
    expect(problem.folder).toBe(problemFolder);
  });

  it('takes a problem that is already loaded', async () => {
    const { problem } = await loadKernel(kernelFolder);
    expect((await loadKernel(join(kernelFolder, 'kernel.json'), { problem })).problem).toBe(problem);
  });

  it('keeps a cubin as base64', async () => {
    await writeFile(join(kernelFolder, 'kernel.cubin'), Uint8Array.of(0x7f, 0x45, 0xff));
    await writeKernel(['source'], { kind: 'cubin', files: ['kernel.cubin'] });
    expect((await loadKernel(kernelFolder)).kernel.sources).toEqual({ 'kernel.cubin': 'f0X/' });
  });

  it('says which folder or file is missing', async () => {
    expect(await rejectionOf(loadKernel(join(problemFolder, '09_none')))).toMatchObject({
      code: 'no-such-folder',
      file: join(problemFolder, '09_none'),
      expected: 'a kernel folder with kernel.json',
    });
    expect(await rejectionOf(loadKernel(problemFolder))).toEqual({
      code: 'missing-file',
      message: `There is no file ${join(problemFolder, 'kernel.json')}.`,
      file: join(problemFolder, 'kernel.json'),
      received: 'nothing there',
      expected: 'a kernel folder with kernel.json',
      hint: 'A problem folder (problem.json) is not a kernel folder; kernels are its sub-folders, such as 01_minimal.',
    });
  });

  it('says which source is missing', async () => {
    await rm(join(kernelFolder, 'kernel.cu'));
    expect(await rejectionOf(loadKernel(kernelFolder))).toEqual({
      code: 'missing-file',
      message: `There is no file ${join(kernelFolder, 'kernel.cu')}.`,
      file: join(kernelFolder, 'kernel.cu'),
      received: 'nothing there',
      expected: `a source file (as \`source.files[0]\` in ${join(kernelFolder, 'kernel.json')} says)`,
      hint: 'Correct the name, or add the file to the kernel folder.',
    });
  });

  it('says which problem is missing', async () => {
    await writeKernel(['problem'], '../../problem.json');
    expect(await rejectionOf(loadKernel(kernelFolder))).toMatchObject({
      code: 'missing-file',
      file: join(root, 'problem.json'),
      received: 'nothing there',
    });
    await writeKernel(['problem'], '..');
    expect(await rejectionOf(loadKernel(kernelFolder))).toMatchObject({
      code: 'invalid-value',
      file: join(kernelFolder, 'kernel.json'),
      path: 'problem',
      received: '..',
      expected: 'the relative path of a problem.json, such as "../problem.json"',
    });
  });

  it('checks kernel.json against its problem', async () => {
    await writeKernel(['steps', 1, 'arguments', 0, 'buffer'], 'X');
    expect(await rejectionOf(loadKernel(kernelFolder))).toEqual({
      code: 'unknown-buffer',
      message: 'There is no buffer or workspace `X`.',
      file: join(kernelFolder, 'kernel.json'),
      path: 'steps[1].arguments[0].buffer',
      received: 'X',
      expected: 'one of x, y, partial',
      hint: 'Did you mean `x`?',
    });
  });

  it.each(['../reference.ts', '/etc/hostname'])('reads no source outside the folder: %s', async (name) => {
    await writeKernel(['source', 'files', 0], name);
    expect(await rejectionOf(loadKernel(kernelFolder))).toEqual({
      code: 'file-outside-kernel',
      message: `\`${name}\` is not inside the kernel's folder.`,
      file: join(kernelFolder, 'kernel.json'),
      path: 'source.files[0]',
      received: name,
      expected: 'a relative path without `..`',
      hint: 'Copy the file into the kernel folder.',
    });
  });

  it('follows no link out of the folder, be it a file or a folder', async () => {
    await symlink(join(problemFolder, 'reference.ts'), join(kernelFolder, 'link.cu'));
    await symlink(problemFolder, join(kernelFolder, 'up'));
    for (const name of ['link.cu', 'up/reference.ts']) {
      await writeKernel(['source', 'files', 0], name);
      expect(await rejectionOf(loadKernel(kernelFolder))).toEqual({
        code: 'file-outside-kernel',
        message: `\`${name}\` is a link to a file outside the kernel's folder.`,
        file: join(kernelFolder, 'kernel.json'),
        path: 'source.files[0]',
        received: name,
        expected: 'a file inside the kernel folder',
        hint: 'Copy the file into the kernel folder.',
      });
    }
  });

  it('follows links that stay inside', async () => {
    await symlink(join(kernelFolder, 'kernel.cu'), join(kernelFolder, 'same.cu'));
    await writeKernel(['source', 'files', 0], 'same.cu');
    expect(Object.keys((await loadKernel(kernelFolder)).kernel.sources)).toEqual(['same.cu']);
  });

  it('runs no problem that the kernel brings itself', async () => {
    await mkdir(join(kernelFolder, 'mine'));
    await writeFile(join(kernelFolder, 'mine', 'problem.json'), JSON.stringify(smallProblem));
    await writeFile(join(kernelFolder, 'mine', 'reference.ts'), 'globalThis.kernelCodeRan = true;');
    await symlink(join(kernelFolder, 'mine'), join(problemFolder, 'elsewhere'));
    for (const path of ['mine/problem.json', '../elsewhere/problem.json']) {
      await writeKernel(['problem'], path);
      expect(await rejectionOf(loadKernel(kernelFolder))).toMatchObject({
        code: 'problem-inside-kernel',
        file: join(kernelFolder, 'kernel.json'),
        path: 'problem',
        received: path,
        expected: 'a problem.json outside the kernel folder',
      });
    }
    expect(globalThis).not.toHaveProperty('kernelCodeRan');
  });

  it('reads no device file', async () => {
    await symlink('/dev/zero', join(kernelFolder, 'zero.cu'));
    await writeKernel(['source', 'files', 0], 'zero.cu');
    expect(await rejectionOf(loadKernel(kernelFolder))).toMatchObject({
      code: 'not-a-file',
      file: join(kernelFolder, 'zero.cu'),
    });
  });
});
