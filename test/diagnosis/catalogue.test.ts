import { describe, expect, it } from 'vitest';
import { FINDING_IDS } from '../../src/core/vocabulary.ts';
import type { PatternMove } from '../../src/diagnosis/pattern.ts';
import { PATTERNS } from '../../src/diagnosis/patterns/index.ts';
import { RULES } from '../../src/diagnosis/rules/index.ts';
import { KERNEL_CASES } from './support/kernel-cases.ts';
import { PATTERN_CASES } from './support/pattern-cases.ts';
import { context, type Situation } from './support/pattern-context.ts';

/*
 * The catalogue, walked: a rule or pattern without a case fails here, and so does a case whose rule or pattern is gone.
 * The rules' kernels are executed in rules-on-kernels.test.ts: one on which the rule fires, one on which it does not.
 */

describe('every rule', () => {
  it('has a finding id, and every finding id a rule', () => {
    expect(RULES.map(({ id }) => id)).toEqual([...FINDING_IDS]);
  });

  it.each(FINDING_IDS.map((id) => [id]))('%s has a kernel that it fires on, and one that it does not', (id) => {
    const own = KERNEL_CASES.filter((entry) => entry.id === id);
    expect(own).toHaveLength(1);
    const [entry] = own;
    expect(JSON.stringify(entry!.defect)).not.toBe(JSON.stringify(entry!.healthy));
  });
});

const pattern = (id: string) => PATTERNS.find((entry) => entry.id === id);

/** What is tried, not advised: parameters and rungs by name. */
function triedBy(moves: readonly PatternMove[]): string[] {
  return moves.flatMap((move) => {
    if (move.kind === 'advice') return [];
    if (move.kind === 'parameters') return move.changes.map(({ parameter }) => parameter);
    return [move.kind === 'rung' ? move.rung : move.parameter];
  });
}

describe('every pattern', () => {
  it('has one case, and every case a pattern', () => {
    expect(PATTERN_CASES.map((entry) => entry.pattern)).toEqual(PATTERNS.map(({ id }) => id));
  });

  it.each(PATTERN_CASES)('$pattern has a move where it should, and none where it should not', (entry) => {
    const propose = (situation: Situation): string[] =>
      triedBy(pattern(entry.pattern)!.propose(context(entry.trigger, situation)));
    expect(pattern(entry.pattern)!.triggers).toContain(entry.trigger);
    expect(propose(entry.answers)).toContain(entry.with);
    expect(propose(entry.silent)).toEqual([]);
  });
});
