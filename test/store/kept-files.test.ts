import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ProfileReport } from '../../src/core/profile.ts';
import { openContentStore } from '../../src/store/content-store.ts';
import { holdKeptFiles } from '../../src/store/kept-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-kept-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const profile: ProfileReport = {
  tool: 'ncu',
  version: '1',
  level: 'light',
  clockControl: 'none',
  cacheControl: 'none',
  launches: [],
  rules: [],
  elapsedMs: 1,
};
const read = (...path: string[]) => readFileSync(join(folder, ...path), 'utf8');

it('writes what the evaluation names, under names that say what it is', () => {
  const held = holdKeptFiles();
  const artifacts = { ptx: held.put('.version 8.0'), sass: held.put('IMAD') };
  held.put('of something else');
  const reportObject = held.put(Uint8Array.of(0x41, 0x42));
  const out = join(folder, 'new', 'kept');
  expect(readdirSync(folder)).toEqual([]);
  expect(held.write(out, { artifacts, profile: { ...profile, reportObject } })).toEqual([
    'kernel.ptx',
    'kernel.sass',
    'profile.ncu-rep',
  ]);
  expect(readdirSync(out).sort()).toEqual(['kernel.ptx', 'kernel.sass', 'profile.ncu-rep']);
  expect([read('new', 'kept', 'kernel.ptx'), read('new', 'kept', 'kernel.sass')]).toEqual(['.version 8.0', 'IMAD']);
  expect(read('new', 'kept', 'profile.ncu-rep')).toBe('AB');
});

it('names contents as a run’s store does', () => {
  expect(holdKeptFiles().put('x')).toBe(openContentStore(folder).put('x'));
});

it('leaves nothing of an earlier evaluation beside the new, and no other file touched', () => {
  const first = holdKeptFiles();
  first.write(folder, { artifacts: { ptx: first.put('old'), sass: first.put('old machine code') } });
  writeFileSync(join(folder, 'notes.txt'), 'mine');
  const second = holdKeptFiles();
  expect(second.write(folder, { artifacts: { ptx: second.put('new') } })).toEqual(['kernel.ptx']);
  expect(readdirSync(folder).sort()).toEqual(['kernel.ptx', 'notes.txt']);
  expect(second.write(folder, {})).toEqual([]);
  expect(readdirSync(folder)).toEqual(['notes.txt']);
});

it('a place that can’t be written: which option chose it', () => {
  writeFileSync(join(folder, 'file'), '');
  const held = holdKeptFiles();
  const artifacts = { ptx: held.put('x') };
  const refused = expect.objectContaining({
    details: expect.objectContaining({ code: 'store-not-a-folder', hint: expect.stringContaining('--keep') }),
  });
  expect(() => held.write(join(folder, 'file'), { artifacts })).toThrow(refused);
});
