import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRepeats, priorsFor, problemDigest, repeatsAreOff, seedsFor } from '../../src/app/repeats.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { createFakeToolchain } from '../support/fake-toolchain.ts';
import { toyCandidate, toyProblem } from '../support/toy-problem.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-repeats-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const L4 = DEVICE_SPECS.get('l4')!;
const toolchain = { ...createFakeToolchain(), digest: () => 'clang 20' };
const tools = { spec: L4, toolchain, environment: { warpsmith: '0.1.0' }, limits: {} };
const open = (changes: Partial<typeof tools> = {}, isFresh = false) =>
  openRepeats({ ...tools, ...changes }, { isFresh, folder: join(folder, 'repeats') })!;

describe('what a problem is', () => {
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const file = toyProblem({
    inputs: { X: { dtype: 'f16', shape: ['R'], access: 'in', generator: { kind: 'npy', file: 'data/x.npy' } } },
  }).file;
  const digest = () => problemDigest({ folder, file });
  beforeEach(() => {
    mkdirSync(join(folder, 'data'));
    write('problem.json', '{}');
    write('reference.ts', "import { scale } from './scale.ts';");
    write('scale.ts', 'export const scale = 1;');
    write('table.json', '[1]');
    write('data/x.npy', 'x');
  });

  it.each(['problem.json', 'reference.ts', 'scale.ts', 'table.json', 'data/x.npy'])('changes with %s', (name) => {
    const before = digest();
    expect(digest()).toBe(before);
    write(name, 'other');
    expect(digest()).not.toBe(before);
    rmSync(join(folder, name));
    expect(digest()).not.toBe(before);
  });

  it('changes with a further file that a reference may import, and with where a link leads', () => {
    const before = digest();
    symlinkSync('scale.ts', join(folder, 'link.ts'));
    const linked = digest();
    expect(linked).not.toBe(before);
    rmSync(join(folder, 'link.ts'));
    symlinkSync('reference.ts', join(folder, 'link.ts'));
    expect(digest()).not.toBe(linked);
  });

  it('does not change with what a verdict can’t depend on', () => {
    const before = digest();
    write('notes.md', 'read me');
    expect(digest()).toBe(before);
  });
});

describe('what evaluates', () => {
  const digest = (changes: Partial<typeof tools> = {}) => open(changes).evaluatorDigest;

  it('changes with the device, the compiler, the environment and the limits', () => {
    const others = [
      digest({ spec: { ...L4, smCount: { ...L4.smCount, value: 57 } } }),
      digest({ toolchain: { ...toolchain, digest: () => 'clang 21' } }),
      digest({ environment: { warpsmith: '0.2.0' } }),
      digest({ limits: { runTimeoutSeconds: 1 } }),
    ];
    expect(digest()).toBe(digest());
    expect(new Set([digest(), ...others]).size).toBe(5);
  });

  it('is not known of a compiler that does not say what it is', () => {
    expect(openRepeats({ ...tools, toolchain: createFakeToolchain() }, { isFresh: false, folder })).toBeUndefined();
  });
});

describe('what exactly the same files are begun with', () => {
  const subject = { problem: toyProblem(), judged: [toyCandidate()], asked: [] };
  beforeEach(() => writeFileSync(join(folder, 'problem.json'), '{}'));
  const here = {
    ...subject,
    problem: {
      ...subject.problem,
      get folder() {
        return folder;
      },
    },
  };

  it('is the seed of the last time, and that of its confirmation', () => {
    const draw = seedsFor(open(), here);
    const seed = draw();
    const confirmation = draw(seed);
    expect(seedsFor(open(), here)()).toBe(seed);
    expect(seedsFor(open(), here)(seed)).toBe(confirmation);
    expect(confirmation).not.toBe(seed);
  });

  it('is another seed once a file has changed, or where it is to be fresh', () => {
    const seed = seedsFor(open(), here)();
    const fresh = seedsFor(open({}, true), here)();
    expect(fresh).not.toBe(seed);
    expect(seedsFor(open(), here)()).toBe(fresh);
    writeFileSync(join(folder, 'problem.json'), '{"name": "other"}');
    expect(seedsFor(open(), here)()).not.toBe(fresh);
  });

  it('is what earlier runs of the same store told then', () => {
    const told = (cost: number) => () => ({ patterns: [], costs: [{ kernel: 'toy', cost }] }) as never;
    expect(priorsFor(open(), here, 'store', told(1))).toEqual(told(1)());
    expect(priorsFor(open(), here, 'store', told(2))).toEqual(told(1)());
    expect(priorsFor(open(), here, 'other store', told(2))).toEqual(told(2)());
    expect(priorsFor(open({}, true), here, 'store', told(3))).toEqual(told(3)());
    expect(priorsFor(open(), here, 'store', told(4))).toEqual(told(3)());
  });
});

describe('where it lies', () => {
  it('is nowhere where it is turned off', () => {
    expect(repeatsAreOff({ WARPSMITH_REPEATS: 'off' })).toBe(true);
    expect(repeatsAreOff({})).toBe(false);
  });
});
