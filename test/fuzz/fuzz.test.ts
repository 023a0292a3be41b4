import { describe, expect, it } from 'vitest';
import { fullRun } from '../reports/full-run.ts';
import { sampled } from '../support/sampling/matrix.ts';
import { complaint, type Fixtures, KINDS, type Outcome, runCase } from './cases.ts';
import corpus from './corpus.json' with { type: 'json' };

/** Mutations of each kind; together 2,000. */
const COUNTS: Readonly<Record<string, number>> = { files: 700, logs: 700, stores: 100, options: 500 };
/** A run takes one part of each kind. */
const PARTS = 5;
/** Another seed looks elsewhere: WARPSMITH_FUZZ_SEED=7 npx vitest run test/fuzz */
const BASE = Number(process.env.WARPSMITH_FUZZ_SEED ?? 1);
const MOST_BYTES = 2 * 1024 ** 3;

const fixtures: Fixtures = { log: fullRun.map((event) => JSON.stringify(event)) };

const describeFailure = (kind: string, { seed, argv, output }: Outcome, what: string): string =>
  `${what}: ${kind}, --seed ${seed}: warpsmith ${argv.join(' ').slice(0, 300)}\n${output.slice(-1500)}`;

describe('no input makes a command crash, hang or fill the memory', () => {
  const parts = Object.keys(KINDS).flatMap((kind) => Array.from({ length: PARTS }, (_, part) => [kind, part] as const));
  sampled('mutations', parts, { oneIn: PARTS, kindOf: ([kind]) => kind })('%s, part %i', async (kind, part) => {
    const failures: string[] = [];
    for (let index = part; index < COUNTS[kind]!; index += PARTS) {
      const outcome = await runCase(kind, BASE * 1_000_000 + index, fixtures);
      const what = complaint(outcome);
      if (what) failures.push(describeFailure(kind, outcome, what));
    }
    expect(failures.slice(0, 8)).toEqual([]);
    expect(process.memoryUsage().rss).toBeLessThan(MOST_BYTES);
  });
});

describe('what failed once fails no more', () => {
  it.each(corpus as [string, number, string][])('%s, --seed %i: %s', async (kind, seed) => {
    const outcome = await runCase(kind, seed, fixtures);
    const what = complaint(outcome);
    expect(what && describeFailure(kind, outcome, what)).toBeUndefined();
  });
});
