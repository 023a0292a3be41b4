import { judge } from '../../app/evaluate.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import { evaluationTerminal } from '../../reports/evaluation-terminal.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { evaluateRequest } from '../judging-request.ts';
import type { EvidenceOptions, JudgingOptions, KeepOptions } from '../options.ts';
import { paintFor, printJson } from '../output.ts';

type Options = JudgingOptions & EvidenceOptions & KeepOptions & { target: string };

export const run: Run<Options> = async (options, context) => {
  const { streams } = context;
  const { evaluation, kept } = await judge(await evaluateRequest(options, context));
  if (options.json) printJson(streams, { kind: 'evaluate', ...evaluation });
  else streams.out.write(evaluationTerminal(evaluation, paintFor(streams.out)));
  if (kept) streams.err.write(describeKept(options.keep!, kept, evaluation));
  return exitCodeOfStatus(evaluation.status);
};

function describeKept(folder: string, files: readonly string[], { artifacts }: Evaluation): string {
  const lines = [
    files.length === 0 ? `Nothing was there to be kept in ${folder}.` : `Kept in ${folder}: ${files.join(', ')}.`,
    ...(artifacts?.notes ?? []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
