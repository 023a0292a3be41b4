import { judge } from '../../app/evaluate.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { evaluationTerminal } from '../../reports/evaluation-terminal.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { onDevice } from '../judging-request.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<RequestOf<'evaluate'>> = async (request, context) => {
  const { streams, json } = context;
  const { evaluation, kept } = await judge(await onDevice('evaluate', request, context));
  if (json) printJson(streams, { kind: 'evaluate', ...evaluation });
  else streams.out.write(evaluationTerminal(evaluation, paintFor(streams.out)));
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
