import { judge } from '../../app/evaluate.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { evaluationDocument } from '../../reports/documents/evaluation.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { onDevice } from '../judging-request.ts';
import { printResult } from '../output.ts';
import { withStatus } from '../status-line.ts';

export const run: Run<RequestOf<'evaluate'>> = async (request, context) => {
  const { streams } = context;
  const asked = await onDevice('evaluate', request, context);
  const { evaluation, kept } = await withStatus(streams.err, (told) => judge({ ...asked, ...told }));
  printResult(context, { kind: 'evaluate', ...evaluation }, evaluationDocument);
  if (kept) streams.err.write(describeKept(request.keep!, kept, evaluation));
  return exitCodeOfStatus(evaluation.status);
};

function describeKept(folder: string, files: readonly string[], { artifacts }: Evaluation): string {
  const lines = [
    files.length === 0 ? `Nothing was there to be kept in ${folder}.` : `Kept in ${folder}: ${files.join(', ')}.`,
    ...(artifacts?.notes ?? []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
