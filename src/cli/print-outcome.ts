import type { DispatchOutcome, PerWorkloadOutcome } from '../app/dispatch.ts';
import type { OptimizeOutcome } from '../app/optimize.ts';
import { dispatchTerminal } from '../reports/dispatch-terminal.ts';
import { runTerminal } from '../reports/run-terminal.ts';
import { paintFor, printJson, type Streams } from './output.ts';

/** The report, with the two paths as its last lines. */
function printText({ out }: Streams, { view, reportPath, bestKernelPath }: OptimizeOutcome): void {
  out.write(`${runTerminal(view, paintFor(out))}\n`);
  out.write(`Report: ${reportPath}\n`);
  out.write(`Best kernel: ${bestKernelPath ?? 'none, because the start did not pass'}\n`);
}

const outcomeJson = ({ view, runFolder, reportPath, bestFolder, bestKernelPath }: OptimizeOutcome): object => ({
  ...view,
  runFolder,
  reportPath,
  bestFolder: bestFolder ?? null,
  bestKernelPath: bestKernelPath ?? null,
});

/** What `optimize` and `resume` leave on stdout. */
export function printOutcome(streams: Streams, outcome: OptimizeOutcome, json: boolean): void {
  if (json) printJson(streams, outcomeJson(outcome));
  else printText(streams, outcome);
}

const dispatchJson = ({ table, folder, files, times, notes }: DispatchOutcome): object => ({
  ...table,
  folder,
  files,
  times,
  notes,
});

/** What `dispatch` leaves on stdout, the folder in the last line. */
export function printDispatch(streams: Streams, outcome: DispatchOutcome, json: boolean): void {
  for (const note of outcome.notes) streams.err.write(`Note: ${note}.\n`);
  if (json) printJson(streams, dispatchJson(outcome));
  else streams.out.write(`${dispatchTerminal(outcome.table, outcome.times)}\nFolder: ${outcome.folder}\n`);
}

/** Every workload's report and best, then the dispatch table. */
export function printPerWorkload(streams: Streams, { runs, dispatch }: PerWorkloadOutcome, json: boolean): void {
  if (json) {
    const table = dispatch ? dispatchJson(dispatch) : null;
    printJson(streams, { schemaVersion: 1, kind: 'per-workload', runs: runs.map(outcomeJson), dispatch: table });
    return;
  }
  for (const outcome of runs) printText(streams, outcome);
  if (dispatch) printDispatch(streams, dispatch, false);
}
