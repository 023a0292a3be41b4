import { describe, expect, it } from 'vitest';
import type { Ways } from '../../../src/core/decisions.ts';
import type { Check } from '../../../src/evaluation/oracle/check.ts';
import { mutatedSetOf } from '../../../src/evaluation/oracle/mutated-inputs.ts';
import { InputGuide } from '../../../src/evaluation/verify/input-guide.ts';
import { MetInputs } from '../../../src/evaluation/verify/met-inputs.ts';

const WAYS = {
  T: { wasTrue: true, wasFalse: false },
  F: { wasTrue: false, wasFalse: true },
  B: { wasTrue: true, wasFalse: true },
  '-': { wasTrue: false, wasFalse: false },
} as const satisfies Record<string, Ways>;

/** `TF-`: how the decisions went. */
const waysOf = (text: string): Ways[] => [...text].map((way) => WAYS[way as keyof typeof WAYS]);

const SMALL = { N: 8 };

/** A guide that has met `usual` seven times, and others once. */
function guideOf(usual: string, others: Record<string, string>, places = [...usual].keys()): Guided {
  const all = [...places];
  const met = new MetInputs(() => all);
  for (let i = 0; i < 7; i++) met.learn({ dimensions: SMALL, generatorSet: `usual ${i}` }, waysOf(usual));
  for (const [generatorSet, ways] of Object.entries(others))
    met.learn({ dimensions: SMALL, generatorSet }, waysOf(ways));
  return { guide: new InputGuide(1, met), met };
}

interface Guided {
  readonly guide: InputGuide;
  readonly met: MetInputs;
}

/** All that it breeds, where each child goes the ways that `waysOfChild` says. */
function bred({ guide, met }: Guided, waysOfChild: (check: Check) => string): Check[] {
  const all: Check[] = [];
  for (let check = guide.next(); check; check = guide.next()) {
    all.push(check);
    met.learn(check, waysOf(waysOfChild(check)));
  }
  return all;
}

const parentsOf = (checks: readonly Check[]): (string | undefined)[] =>
  checks.map(({ generatorSet }) => mutatedSetOf(generatorSet)?.base);

describe('inputs bred for rare ways of decisions', () => {
  it('come of inputs in which a decision went a way that it rarely goes, at their shape', () => {
    const checks = bred(guideOf('FB', { tiles: 'TB' }), () => 'FB');
    expect(checks).toHaveLength(16);
    expect(new Set(parentsOf(checks))).toEqual(new Set(['tiles']));
    expect(new Set(checks.map(({ generatorSet }) => generatorSet)).size).toBe(16);
    expect(checks.every(({ dimensions, isOnce }) => dimensions === SMALL && isOnce)).toBe(true);
  });

  it('are none where every decision goes its usual way, follows from the launch or is not made', () => {
    expect(guideOf('FB', { tiles: 'FB' }).guide.next()).toBeUndefined();
    expect(guideOf('FB', { tiles: 'TB' }, [1][Symbol.iterator]()).guide.next()).toBeUndefined();
    expect(guideOf('F', { tiles: '-' }).guide.next()).toBeUndefined();
  });

  it('are bred on where they show a way of their own', () => {
    const checks = bred(guideOf('FF', { tiles: 'TF' }), ({ generatorSet }) =>
      mutatedSetOf(generatorSet)!.changes.length === 1 ? 'TB' : 'FF',
    );
    expect(Math.max(...checks.map(({ generatorSet }) => mutatedSetOf(generatorSet)!.changes.length))).toBe(2);
  });

  it('are as many for each way, and end', () => {
    const others = Object.fromEntries(
      Array.from({ length: 16 }, (_, i) => [
        `set ${i}`,
        [...'F'.repeat(16)].map((way, j) => (i === j ? 'T' : way)).join(''),
      ]),
    );
    const checks = bred(guideOf('F'.repeat(16), others), () => 'F'.repeat(16));
    expect(checks).toHaveLength(192);
    const counts = Map.groupBy(parentsOf(checks), (parent) => parent);
    expect([...counts.values()].map((all) => all.length)).toEqual(Array.from({ length: 16 }, () => 12));
  });
});
