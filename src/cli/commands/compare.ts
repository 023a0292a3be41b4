import { deviceOfCandidates } from '../../app/candidate-target.ts';
import { compareCandidates } from '../../app/compare.ts';
import type { Cache } from '../../app/workload.ts';
import { EXIT } from '../../core/errors.ts';
import type { ParameterValues } from '../../core/kernel.ts';
import { compareTerminal } from '../../reports/compare-terminal.ts';
import type { CompareView, FailOn } from '../../reports/compare-view.ts';
import type { Run } from '../context.ts';
import { exitCodeOfStatus } from '../exit-code.ts';
import { sessionRequest } from '../judging-request.ts';
import type { DeviceOptions } from '../options.ts';
import { paintFor, printJson } from '../output.ts';
import { createStatusLine } from '../status-line.ts';

interface Options extends DeviceOptions {
  baseline: string;
  candidate: string;
  store: string;
  workload?: string[];
  setBaseline?: ParameterValues;
  setCandidate?: ParameterValues;
  cache?: Cache;
  seed?: number;
  failOn?: FailOn;
}

/** The worst that either side was; then what --fail-on asks for. */
function exitCodeOf({ workloads, failing }: CompareView): number {
  const codes = workloads.flatMap(({ baseline, candidate }) => [
    exitCodeOfStatus(baseline.status),
    exitCodeOfStatus(candidate.status),
  ]);
  if (codes.includes(EXIT.judgedFailed)) return EXIT.judgedFailed;
  return codes.find((code) => code !== EXIT.ok) ?? (failing.length > 0 ? EXIT.judgedFailed : EXIT.ok);
}

export const run: Run<Options> = async (options, context) => {
  const { streams, signal } = context;
  const { baseline, candidate, store, workload, setBaseline, setCandidate, cache, seed, failOn } = options;
  const request = await sessionRequest(options, context, () => deviceOfCandidates([baseline, candidate], store));
  const status = createStatusLine(streams.err);
  const view = await compareCandidates({
    ...request,
    baseline,
    candidate,
    baselineParameters: setBaseline ?? {},
    candidateParameters: setCandidate ?? {},
    store,
    workloads: workload ?? [],
    signal,
    onStep: (text) => status.step(text),
    seed,
    cache,
    failOn,
  }).finally(() => status.clear());
  if (options.json) printJson(streams, view);
  else streams.out.write(compareTerminal(view, paintFor(streams.out)));
  return exitCodeOf(view);
};
