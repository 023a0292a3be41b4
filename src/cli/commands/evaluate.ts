import { judge } from '../../app/evaluate.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { evaluationDocument } from '../../reports/documents/evaluation.ts';
import { type Feedback, feedbackOf, feedbackText } from '../../reports/feedback.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { onDevice } from '../judging-request.ts';
import { printLines, printResult } from '../output.ts';
import { withStatus } from '../status-line.ts';

export const run: Run<RequestOf<'evaluate'>> = async (request, context) => {
  const { streams } = context;
  const asked = await onDevice('evaluate', request, context);
  const { evaluation, kept } = await withStatus(streams.err, (told) => judge({ ...asked, ...told }));
  if (request.brief && !context.json) printLines(streams, feedbackText(await briefOf(request, evaluation)).split('\n'));
  else printResult(context, { kind: 'evaluate', ...evaluation }, evaluationDocument);
  if (kept) streams.err.write(describeKept(request.keep!, kept, evaluation));
  return exitCodeOfStatus(evaluation.status);
};

/** With the ratio to the attempt that it changes, if the journal holds one. */
async function briefOf({ store }: RequestOf<'evaluate'>, evaluation: Evaluation): Promise<Feedback> {
  const { journal } = evaluation;
  if (!journal || 'notKept' in journal) return feedbackOf({ evaluation });
  const { readLog } = await import('../../app/log.ts');
  const [attempt] = readLog({ store, what: journal.attempt }).attempts;
  return feedbackOf({ evaluation, ratioToParent: attempt?.versusParent?.ratio ?? null });
}

function describeKept(folder: string, files: readonly string[], { artifacts }: Evaluation): string {
  const lines = [
    files.length === 0 ? `Nothing was there to be kept in ${folder}.` : `Kept in ${folder}: ${files.join(', ')}.`,
    ...(artifacts?.notes ?? []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
