import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { codeFingerprint, fingerprintOf } from '../../src/process/code-fingerprint.ts';

const folder = mkdtempSync(join(tmpdir(), 'warpsmith-fingerprint-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('changes with the contents, the name and the number of files, whatever they are, and with nothing else', () => {
  const file = (name: string): string => join(folder, name);
  mkdirSync(file('below'));
  writeFileSync(file('a.ts'), 'one');
  writeFileSync(file('below/harness.ptx'), 'two');
  const seen = [fingerprintOf(folder)];
  const changes = [
    () => writeFileSync(file('a.ts'), 'on'),
    () => writeFileSync(file('below/harness.ptx'), 'etwo'),
    () => renameSync(file('a.ts'), file('b.ts')),
    () => renameSync(file('b.ts'), file('below/b.ts')),
    () => writeFileSync(file('empty.hpp'), ''),
  ];
  for (const change of changes) {
    change();
    seen.push(fingerprintOf(folder));
  }
  expect(new Set(seen).size).toBe(changes.length + 1);
  writeFileSync(file('empty.hpp'), '');
  expect(fingerprintOf(folder)).toBe(seen.at(-1));
});

it('is that of the sources, once for a process', () => {
  vi.stubEnv('WARPSMITH_BUILD', '');
  expect(codeFingerprint()).toBe(fingerprintOf(join(import.meta.dirname, '../../src/')));
  vi.unstubAllEnvs();
  expect(codeFingerprint()).toMatch(/^[0-9a-f]{64}$/);
});
