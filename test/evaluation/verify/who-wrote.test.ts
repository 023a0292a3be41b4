import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openSession, type Session } from '../../../src/app/session.ts';
import type { Device } from '../../../src/core/device.ts';
import type { Evaluation } from '../../../src/core/evaluation.ts';
import { evaluationSchema } from '../../../src/core/evaluation.ts';
import { describeWriter, evaluationDocument } from '../../../src/reports/documents/evaluation.ts';
import { feedbackOf, feedbackText } from '../../../src/reports/feedback.ts';
import { printMarkdown } from '../../../src/reports/print/markdown.ts';
import { type Edit, judgeRung } from '../../support/judge-rung.ts';
import { longTests } from '../../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

let session: Session;
beforeAll(async () => {
  session = await openSession({ device: 'virtual:l4', threads: 1 });
});
afterAll(() => session[Symbol.asyncDispose]());

const FOLDER = 'examples/row-sum/01_thread_per_row';
const STORE = 'y[row] = sum;';
const judge = (...edits: Edit[]): Promise<Evaluation> =>
  judgeRung(session, { folder: FOLDER, workload: 'rows=300,columns=8', edits });
/** The thread and CTA that a row belongs to. */
const ownerOf = (row: number) => ({ cta: [Math.floor(row / 128), 0, 0], thread: [row % 128, 0, 0] });

describe('who wrote the first wrong element', () => {
  long('is the thread that took the wrong index, with its line', async () => {
    const evaluation = await judge([STORE, 'y[rows - 1 - row] = sum;']);
    const { status, writer, correctness } = evaluation;
    expect(status).toBe('wrong');
    const { index, elementCount } = correctness!.firstWrong!;
    expect(writer).toMatchObject({
      ...{ output: 'y', index, count: 1 },
      last: {
        ...{ step: 0, functionName: 'row_sum', source: { file: 'kernel.cu', line: 12 } },
        ...ownerOf(elementCount - 1 - index[0]!),
      },
    });
    expect(writer!.last!.instruction).toMatch(/^st\.global/);
    expect(writer!.earlier).toBeUndefined();
    expect(evaluationSchema.parse(JSON.parse(JSON.stringify(evaluation)))).toEqual(evaluation);
  });

  it('is the thread itself where its value is wrong', async () => {
    const { writer, correctness } = await judge([STORE, 'y[row] = row % 16 == 9 ? sum + 1 : sum;']);
    const [row] = correctness!.firstWrong!.index;
    expect(row! % 16).toBe(9);
    expect(writer).toMatchObject({ index: [row], count: 1, last: ownerOf(row!) });
  });

  it('is nobody where the write is missing', async () => {
    const evaluation = await judge([STORE, 'if (row % 16 != 3) y[row] = sum;']);
    expect(evaluation).toMatchObject({ status: 'wrong', writer: { output: 'y', index: [3], count: 0 } });
    expect(describeWriter(evaluation.writer!)).toBe('y[3] was never written');
  });

  it('is the CTA that overwrote it, and the one before, where orders differ', async () => {
    // Atomic stores of two CTAs are no race.
    const evaluation = await judge([
      STORE,
      'atomicExch(&y[row], sum);\n  if (row >= 128 && row % 128 == 5) atomicExch(&y[row - 128], 2 * sum + 1);',
    ]);
    expect(evaluation).toMatchObject({ status: 'wrong', reason: expect.stringContaining('order of CTAs') });
    const { writer } = evaluation;
    const [row] = writer!.index;
    const cta = Math.floor(row! / 128);
    expect(row! % 128).toBe(5);
    expect(writer).toMatchObject({
      count: 2,
      last: { cta: [cta + 1, 0, 0], thread: [5, 0, 0], source: { line: 13 } },
      earlier: { cta: [cta, 0, 0], thread: [5, 0, 0], source: { line: 12 } },
    });
    const told = feedbackText(feedbackOf({ evaluation }));
    const before = `before that by thread (5, 0, 0) of CTA (${cta}, 0, 0) of row_sum at kernel.cu:12; 2 writes`;
    expect(told).toContain(
      `y[${row}] was last written by thread (5, 0, 0) of CTA (${cta + 1}, 0, 0) of row_sum at kernel.cu:13, ${before}`,
    );
    expect(printMarkdown(evaluationDocument(evaluation))).toContain(before);
  });

  it('is told with the race, where that came out in a run that does not look for any', async () => {
    const { status, reason, failedCheck } = await judge([
      STORE,
      'y[row] = sum;\n  if (rows == 300 && row % 16 == 3) y[row - 1] = 0;',
    ]);
    expect([status, failedCheck]).toEqual(['wrong', expect.stringContaining('rows=300, columns=8')]);
    expect(reason).toMatch(
      /wanted .*; race: a global write of 4 bytes and a write of thread \(2, 0, 0\) at kernel\.cu:12 have no __syncwarp/,
    );
  });

  long('costs one run where an element is wrong, and nothing elsewhere', async () => {
    const run = vi.spyOn(session.device as Device, 'run');
    const evaluation = await judge();
    expect(run.mock.calls.length).toBeGreaterThan(10);
    expect(run.mock.calls.some(([, , , { watch }]) => watch)).toBe(false);
    await judge([STORE, 'y[rows - 1 - row] = sum;']);
    expect(run.mock.calls.filter(([, , , { watch }]) => watch)).toHaveLength(1);
    expect(evaluation.status).toBe('passed');
    expect(evaluation.writer).toBeUndefined();
  });
});
