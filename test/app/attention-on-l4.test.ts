import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { openSession, type Session } from '../../src/app/session.ts';
import { loadKernelTarget } from '../../src/app/target.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import type { ParameterValues } from '../../src/core/kernel.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import type { ProblemFile } from '../../src/core/problem.ts';
import { NARROW } from '../support/attention-problem.ts';
import { narrowed } from '../support/narrowed.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';
import { onlyInAll } from '../support/sampling/matrix.ts';

const ATTENTION = fileURLToPath(new URL('../../problems/attention', import.meta.url));

let session: Session;
beforeAll(async () => {
  session = await openSession({ device: 'virtual:l4' });
});
afterAll(async () => await session[Symbol.asyncDispose]());

async function evaluate(
  rung: string,
  workload: string,
  parameters: ParameterValues = {},
  change = (file: ProblemFile): ProblemFile => file,
): Promise<Evaluation> {
  const { kernel, problem: whole } = await loadKernelTarget(join(ATTENTION, rung));
  const problem = { ...whole, file: change(whole.file) };
  return session.evaluator.evaluate({
    problem,
    candidate: makeCandidate(kernel, parameters),
    workload: resolveWorkload(problem.file, workload),
    // Draws small shapes.
    seed: 14,
  });
}

const ids = ({ findings }: Evaluation): string[] => findings.map(({ id }) => id);

/** L4 ladder of the reports at B1 H8 S512 D64: 870 < 1634 < 2870 < 3652 µs for these four techniques. */
const FASTEST_FIRST = ['04_warp', '03_rows', '01_minimal', '02_tiled'];

describe('the attention ladder on virtual:l4', () => {
  onlyInAll('every rung passes, and the predicted order is the one that was measured', async () => {
    const evaluations: Evaluation[] = [];
    for (const rung of FASTEST_FIRST) evaluations.push(await evaluate(rung, 'b1h8s512d64'));
    expect(evaluations.map(({ status, reason }) => reason ?? status)).toEqual(Array(4).fill('passed'));
    const times = evaluations.map(({ timing }) => timing!.medianNs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    for (const { timing } of evaluations) expect(timing!.kind).toBe('predicted');
    expect(ids(evaluations[3]!)).toContain('serial-sections');
    expect(ids(evaluations[0]!)).not.toContain('serial-sections');
  });

  longTestOf(import.meta.filename)('B1 H1 S128 in tiles of 64 rows: 2 CTAs on 58 SMs come first', async () => {
    const { counters, findings } = await evaluate('02_tiled', 'b1h1s128d64', { BLOCK_M: 64 }, (file) =>
      narrowed(file, NARROW),
    );
    expect(counters!.launches.map(({ ctaCount }) => ctaCount)).toEqual([2]);
    expect(findings[0]).toMatchObject({ id: 'parallelism' });
    expect(findings[0]!.evidence[0]!.value).toBeCloseTo(2 / 58, 6);
  });
});
