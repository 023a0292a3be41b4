import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import { kernelJsonWithDefaults } from '../../src/handover/baked-kernel.ts';
import { changePatch, type FolderFiles } from '../../src/handover/change-patch.ts';
import { findExecutable } from '../../src/process/find-executable.ts';
import { toyCandidate } from '../support/toy-problem.ts';
import { inFolder, runTool } from './support/host-compiler.ts';

const BEFORE: FolderFiles = {
  'kernel.cu': Array.from({ length: 30 }, (_, line) => `line ${line}\n`).join(''),
  'gone.cuh': 'only before\n',
  'same.cuh': 'the same\n',
};
const AFTER: FolderFiles = {
  'kernel.cu': BEFORE['kernel.cu']!.replace('line 3\n', 'line three\n').replace(/line 29\n$/, 'line 29, no newline'),
  'new.cuh': 'only after\n',
  'same.cuh': 'the same\n',
};
const patch = changePatch(BEFORE, AFTER);

const applied = (tool: string, args: readonly string[]): FolderFiles =>
  inFolder({ ...BEFORE, 'change.patch': patch }, (folder) => {
    expect(runTool(tool, args, folder, patch)).toMatchObject({ code: 0 });
    return Object.fromEntries(Object.keys(AFTER).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  });

describe('a patch against the start kernel', () => {
  it('holds what differs, three lines around it, and nothing else', () => {
    expect(patch).toContain('-line 3\n+line three\n');
    expect(patch).toContain('new file mode 100644\n--- /dev/null\n+++ b/new.cuh');
    expect(patch).toContain('deleted file mode 100644\n--- a/gone.cuh\n+++ /dev/null');
    expect(patch).toContain('\\ No newline at end of file');
    expect(patch).not.toContain('same.cuh');
    expect(patch).not.toContain(' line 12\n');
  });

  it('is empty where nothing differs', () => expect(changePatch(BEFORE, BEFORE)).toBe(''));

  it.skipIf(!findExecutable('patch'))('applies with patch -p1', () => {
    expect(applied('patch', ['-p1', '--quiet'])).toEqual(AFTER);
  });

  it.skipIf(!findExecutable('git'))('applies with git apply', () => {
    expect(applied('git', ['apply', 'change.patch'])).toEqual(AFTER);
  });
});

describe('kernel.json with other defaults', () => {
  const parameters = { TILE: { values: [16, 32], default: 16 }, PAD: { values: [0, 8], default: 0 } };
  const { kernel } = toyCandidate({ parameters });
  const laidOut = JSON.stringify(kernel.file, null, 1).replace('"values": [\n    0,\n    8\n   ]', '"values": [0, 8]');

  it('keeps its layout and what it allows', () => {
    const candidate = makeCandidate(kernel, { TILE: 32 });
    const text = kernelJsonWithDefaults(candidate, laidOut, { problem: '../../problem.json' });
    expect(text.split('\n')).toHaveLength(laidOut.split('\n').length);
    expect(JSON.parse(text)).toEqual({
      ...kernel.file,
      problem: '../../problem.json',
      parameters: { ...parameters, TILE: { values: [16, 32], default: 32 } },
    });
  });

  it('keeps the layout of ranges, too', () => {
    const ranged = toyCandidate({ parameters: { TILE: { values: { from: 16, to: 64, step: 16 }, default: 16 } } });
    const laid = JSON.stringify(ranged.kernel.file, null, 1);
    const candidate = makeCandidate(ranged.kernel, { TILE: 48 });
    const text = kernelJsonWithDefaults(candidate, laid, { problem: ranged.kernel.file.problem });
    expect(text).toBe(laid.replace('"default": 16', '"default": 48'));
  });

  it('takes the name and the remedies of the rung in whose folder it is to lie', () => {
    const own = { ...kernel.file, name: '04_last', remedies: ['parallelism', 'spills'] };
    const candidate = makeCandidate({ ...kernel, file: own }, {});
    const text = JSON.stringify(own, null, 2).replace(
      /"remedies": \[[^\]]*\]/,
      '"remedies": ["parallelism", "spills"]',
    );
    const place = { problem: kernel.file.problem };
    const first = kernelJsonWithDefaults(candidate, text, { ...place, rung: { name: '01_first' } });
    expect(JSON.parse(first)).toEqual({ ...kernel.file, name: '01_first' });
    expect(first.split('\n')).toHaveLength(text.split('\n').length - 1);
    const second = kernelJsonWithDefaults(candidate, text, { ...place, rung: { name: '02_x', remedies: ['latency'] } });
    expect(second).toBe(text.replace('04_last', '02_x').replace('"parallelism", "spills"', '"latency"'));
  });

  it('is laid out anew where the text can’t be edited safely', () => {
    const candidate = makeCandidate(kernel, { PAD: 8 });
    // A second "PAD" in front of the parameter: editing the first one found would be wrong.
    const tricky = laidOut.replace('{', '{ "description": "\\"PAD\\": { \\"default\\": 0", ');
    const text = kernelJsonWithDefaults(candidate, tricky, { problem: kernel.file.problem });
    expect(JSON.parse(text).parameters.PAD.default).toBe(8);
  });
});
