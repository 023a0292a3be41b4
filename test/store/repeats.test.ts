import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { openRepeatStore } from '../../src/store/repeats.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-repeats-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const key = (i: number): string => `${i}`.padStart(64, '0');
const evaluation = (reason = ''): Evaluation => ({
  schemaVersion: 1,
  id: 'e0',
  candidate: { id: '1', kernel: 'toy', folder: 'toy', parameters: {} },
  device: { id: 'virtual:fake', kind: 'virtual', name: 'Fake' },
  workload: { name: 'main', dimensions: {} },
  status: 'passed',
  reason,
  findings: [],
  elapsedMs: { compile: 0, verify: 0, time: 0, total: 0 },
});
const files = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;

describe('a folder of repeats', () => {
  it('gives back what was put there, of its own kind only', () => {
    const store = openRepeatStore(folder);
    store.keepEvaluation(key(1), evaluation());
    store.keepSeed(key(2), 7);
    expect(store.evaluation(key(1))?.evaluation).toEqual(evaluation());
    expect(store.seed(key(2))).toBe(7);
    expect(store.evaluation(key(2))).toBeUndefined();
    expect(store.seed(key(1))).toBeUndefined();
    expect(store.evaluation(key(3))).toBeUndefined();
  });

  it('holds numbers that JSON does not know', () => {
    const store = openRepeatStore(folder);
    const timing = { medianNs: Number.POSITIVE_INFINITY, vetoNs: Number.NaN } as Evaluation['timing'];
    store.keepEvaluation(key(1), { ...evaluation(), timing });
    expect(store.evaluation(key(1))?.evaluation.timing).toEqual(timing);
  });

  it('does not take an entry for one of another name', () => {
    const store = openRepeatStore(folder);
    store.keepEvaluation(`ab${key(1)}`, evaluation());
    const other = openRepeatStore(join(folder, 'ab', '..'));
    expect(other.evaluation(`ab${key(2)}`)).toBeUndefined();
  });

  it('stays within its limit: what was not used for longest goes first', () => {
    let ms = Date.parse('2025-11-20T00:00:00Z');
    const now = () => {
      ms += 1000;
      return new Date(ms);
    };
    const text = Array.from({ length: 400 }, () => Math.random().toString(36)).join('');
    const store = openRepeatStore(folder, { maximumBytes: 20_000, now });
    store.keepEvaluation(key(0), evaluation(text));
    for (let i = 1; i < 12; i++) {
      store.keepEvaluation(key(i), evaluation(text));
      // Times of files are those of their writing: they are used in turn.
      expect(store.evaluation(key(i))).toBeDefined();
      expect(store.evaluation(key(0))).toBeDefined();
    }
    expect(files()).toBeLessThan(6);
    expect(store.evaluation(key(11))).toBeDefined();
    expect(store.evaluation(key(1))).toBeUndefined();
  });

  it('does without a folder that can’t be written', () => {
    const path = join(folder, 'file');
    writeFileSync(path, '');
    const store = openRepeatStore(path);
    store.keepEvaluation(key(1), evaluation());
    expect(store.evaluation(key(1))).toBeUndefined();
  });
});
