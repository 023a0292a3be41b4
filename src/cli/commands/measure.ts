import { measureProblem } from '../../app/measure.ts';
import type { Cache } from '../../app/workload.ts';
import { EXIT } from '../../core/errors.ts';
import type { ParameterValues } from '../../core/kernel.ts';
import type { Tier } from '../../core/measurement.ts';
import { contendersTerminal } from '../../reports/contenders-terminal.ts';
import type { LadderView } from '../../reports/ladder-view.ts';
import type { Run } from '../context.ts';
import { sessionRequest } from '../judging-request.ts';
import type { DeviceOptions } from '../options.ts';
import { paintFor, printJson } from '../output.ts';
import { createStatusLine } from '../status-line.ts';

interface Options extends DeviceOptions {
  target: string;
  kernel?: string[];
  baseline?: string[];
  workload?: string[];
  set?: ParameterValues;
  cache?: Cache;
  tier: Tier;
  blocks?: number;
  seed?: number;
}

/** Kernels that do not take a workload are no failure; kernels and libraries that fail are. */
const everyoneWasMeasured = ({ rows }: LadderView): boolean =>
  rows.every(({ cells }) => cells.every(({ outcome }) => outcome !== 'failed'));

export const run: Run<Options> = async (options, context) => {
  const { streams, signal } = context;
  const { target, kernel, baseline, workload, set, cache, tier, blocks, seed } = options;
  const request = await sessionRequest(options, context);
  const status = createStatusLine(streams.err);
  const view = await measureProblem({
    ...request,
    target,
    kernels: kernel ?? [],
    baselines: baseline ?? [],
    workloads: workload ?? [],
    parameters: set ?? {},
    tier,
    signal,
    onStep: (text) => status.step(text),
    seed,
    cache,
    blocks,
  }).finally(() => status.clear());
  if (options.json) printJson(streams, view);
  else streams.out.write(contendersTerminal(view, paintFor(streams.out)));
  return everyoneWasMeasured(view) ? EXIT.ok : EXIT.judgedFailed;
};
