import { deviceOfRun } from '../../app/candidate-target.ts';
import { composeDispatch } from '../../app/dispatch.ts';
import { EXIT } from '../../core/errors.ts';
import type { Run } from '../context.ts';
import { sessionRequest } from '../judging-request.ts';
import type { DeviceOptions } from '../options.ts';
import { printDispatch } from '../print-outcome.ts';
import { createStatusLine } from '../status-line.ts';

interface Options extends DeviceOptions {
  runs: string[];
  store: string;
  output: string;
  seed?: number;
}

export const run: Run<Options> = async (options, context) => {
  const { streams, signal } = context;
  const { runs, store, output, seed } = options;
  const request = await sessionRequest(options, context, () => deviceOfRun(runs[0]!, store));
  const status = createStatusLine(streams.err);
  const onStep = (text: string) => status.step(text);
  const outcome = await composeDispatch({
    ...request,
    runs,
    store,
    output,
    signal,
    onStep,
    seed,
  }).finally(() => status.clear());
  printDispatch(streams, outcome, options.json ?? false);
  return EXIT.ok;
};
