import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSession, type Session } from '../../../src/app/session.ts';
import type { Evaluation } from '../../../src/core/evaluation.ts';
import { evaluationSchema } from '../../../src/core/evaluation.ts';
import { evaluationDocument } from '../../../src/reports/documents/evaluation.ts';
import { feedbackOf, feedbackText } from '../../../src/reports/feedback.ts';
import { printMarkdown } from '../../../src/reports/print/markdown.ts';
import { type Edit, judgeRung } from '../../support/judge-rung.ts';
import { longTestOf } from '../../support/sampling/long-tests.ts';

let session: Session;
beforeAll(async () => {
  session = await openSession({ device: 'virtual:l4', threads: 1 });
});
afterAll(() => session[Symbol.asyncDispose]());

const STORE = 'y[row] = sum;';
const judge = (...edits: Edit[]): Promise<Evaluation> =>
  judgeRung(session, { folder: 'examples/row-sum/01_thread_per_row', workload: 'rows=300,columns=8', edits });

describe('what the kernels of an evaluation print', () => {
  longTestOf(import.meta.filename)('is that of the counted run, with a note on the prediction', async () => {
    const evaluation = await judge([STORE, `${STORE}\n  printf("row %d of %d\\n", row, rows);`]);
    expect(evaluation).toMatchObject({ status: 'passed', printed: { moreCalls: 260 } });
    expect(evaluation.printed!.lines[39]).toMatchObject({ thread: [39, 0, 0], text: 'row 39 of 300' });
    expect(evaluation.diagnostics!.map(({ message }) => message).join()).toContain('leaves out what printf does');
    expect(evaluationSchema.parse(JSON.parse(JSON.stringify(evaluation)))).toEqual(evaluation);
    const report = printMarkdown(evaluationDocument(evaluation));
    expect(report).toContain('(0, 0, 0) (39, 0, 0) row 39 of 300');
    expect(report).toContain('and 260 more calls of printf');
    expect(feedbackText(feedbackOf({ evaluation }))).not.toContain('row 39 of');
  });

  it('is that of the check that failed, where results are wrong', async () => {
    const evaluation = await judge([STORE, 'y[row] = sum + 1;\n  if (row == 0) printf("%d rows\\n", rows);']);
    expect(evaluation.status).toBe('wrong');
    expect(evaluation.printed!.lines).toHaveLength(1);
    expect(evaluation.failedCheck).toContain(`rows=${evaluation.printed!.lines[0]!.text.split(' ')[0]}`);
  });

  it('is nothing where nothing is printed', async () => {
    const evaluation = await judge();
    expect(evaluation.printed).toBeUndefined();
    expect(printMarkdown(evaluationDocument(evaluation))).not.toContain('Printed');
  });
});
