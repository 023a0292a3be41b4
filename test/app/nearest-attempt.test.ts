import { describe, expect, it } from 'vitest';
import { nearestAttempt } from '../../src/app/nearest-attempt.ts';
import { WarpsmithError } from '../../src/core/errors.ts';
import type { Attempt } from '../../src/store/journal.ts';

/** A source's hash is its text here. */
const objects = {
  get(hash: string): Uint8Array {
    if (hash === 'gone') throw new WarpsmithError({ code: 'missing-object', message: 'gone' });
    return new TextEncoder().encode(hash);
  },
};

const attempt = (id: string, source: string, changes: Partial<Attempt> = {}): Attempt => ({
  schemaVersion: 1,
  id,
  time: '',
  command: 'evaluate',
  parent: null,
  problem: 'scale',
  device: { id: 'virtual:l4', name: 'L4' },
  candidate: { id, kernel: 'toy', folder: 'toy', parameters: {} },
  sources: { 'kernel.cu': source },
  results: [],
  ...changes,
});
const candidate = (parameters: Record<string, number>, kernel = 'toy') => ({
  candidate: { id: '', kernel, folder: '', parameters },
});

const nearest = (one: Attempt, earlier: Attempt[]) => nearestAttempt(one, earlier, objects)?.id;

describe('the nearest attempt', () => {
  it('is the one whose sources differ in fewest lines, however long ago', () => {
    const earlier = [attempt('a1', 'a\nb\nc'), attempt('a2', 'x\ny\nz'), attempt('a3', 'x\ny')];
    expect(nearest(attempt('', 'a\nb\nd'), earlier)).toBe('a1');
    expect(nearest(attempt('', 'x\ny\nw'), earlier)).toBe('a3');
  });

  it('is the newest of equals', () => {
    expect(nearest(attempt('', 'a'), [attempt('a1', 'a'), attempt('a2', 'a')])).toBe('a2');
  });

  it('counts parameters, then prefers the same device, workload and kernel', () => {
    const two = attempt('a1', 'a', candidate({ N: 1, M: 2 }));
    const one = attempt('a2', 'a', candidate({ N: 2, M: 2 }));
    expect(nearest(attempt('', 'a', candidate({ N: 2, M: 3 })), [one, two])).toBe('a2');
    const elsewhere = attempt('a2', 'a', { device: { id: 'cuda:0', name: 'GPU' } });
    expect(nearest(attempt('', 'a'), [attempt('a1', 'a'), elsewhere])).toBe('a1');
    expect(nearest(attempt('', 'a'), [attempt('a1', 'a'), attempt('a2', 'a', candidate({}, 'other'))])).toBe('a1');
  });

  it('is of the same problem, and of those whose sources are still there', () => {
    expect(nearest(attempt('', 'a'), [attempt('a1', 'a', { problem: 'other' })])).toBeUndefined();
    expect(nearest(attempt('', 'a'), [attempt('a1', 'a\nb'), attempt('a2', 'gone')])).toBe('a1');
  });
});
