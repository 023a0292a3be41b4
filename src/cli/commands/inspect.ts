import { deviceOfCandidates } from '../../app/candidate-target.ts';
import { inspectCandidate } from '../../app/inspect.ts';
import { inspectTerminal } from '../../reports/inspect-terminal.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { judgingRequest } from '../judging-request.ts';
import type { JudgingOptions } from '../options.ts';
import { paintFor, printJson } from '../output.ts';

type Options = JudgingOptions & { target: string; store: string; lines: number };

export const run: Run<Options> = async (options, context) => {
  const { streams } = context;
  const request = await judgingRequest(options, context, () => deviceOfCandidates([options.target], options.store));
  const view = await inspectCandidate({ ...request, store: options.store });
  if (options.json) printJson(streams, view);
  else streams.out.write(inspectTerminal(view, { hotLines: options.lines }, paintFor(streams.out)));
  return exitCodeOfStatus(view.status);
};
