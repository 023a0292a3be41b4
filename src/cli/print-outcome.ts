import { resolve } from 'node:path';
import type { DispatchOutcome, PerWorkloadOutcome } from '../app/dispatch.ts';
import type { KernelDispatch } from '../app/dispatch-kernels.ts';
import type { OptimizeOutcome } from '../app/optimize.ts';
import { DEFAULT_STORE } from '../core/requests/options.ts';
import { dispatchDocument } from '../reports/documents/dispatch.ts';
import { kernelDispatchDocument } from '../reports/documents/kernel-dispatch.ts';
import { runDocument } from '../reports/documents/run.ts';
import { runEndDocument } from '../reports/documents/run-end.ts';
import { type Printing, printCommand, printDocument, printJson } from './output.ts';

/** The end of the run, or all of it; the two paths are the last lines. */
function printText(how: Printing, { view, runFolder, reportPath, bestKernelPath }: OptimizeOutcome): void {
  const { out } = how.streams;
  // A run of another store goes by its folder.
  const run = resolve(DEFAULT_STORE, 'runs', view.runId) === resolve(runFolder) ? view.runId : runFolder;
  printDocument(how, how.verbose ? runDocument(view) : runEndDocument(view));
  out.write('\n');
  if (view.stop?.reason === 'interrupted') printCommand(how, 'Go on', `warpsmith resume ${run}`);
  if (!how.verbose) printCommand(how, 'More', `warpsmith report ${run}`);
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
export function printOutcome(how: Printing, outcome: OptimizeOutcome): void {
  if (how.json) printJson(how.streams, outcomeJson(outcome));
  else printText(how, outcome);
}

const dispatchJson = ({ table, folder, files, times, notes }: DispatchOutcome): object => ({
  ...table,
  folder,
  files,
  times,
  notes,
});

/** What `dispatch` leaves on stdout, the folder in the last line. */
export function printDispatch(how: Printing, outcome: DispatchOutcome): void {
  const { out, err } = how.streams;
  for (const note of outcome.notes) err.write(`Note: ${note}.\n`);
  if (how.json) printJson(how.streams, dispatchJson(outcome));
  else {
    printDocument(how, dispatchDocument(outcome.table, outcome.times));
    out.write(`\nFolder: ${outcome.folder}\n`);
  }
}

/** What `dispatch --kernels` leaves on stdout, the folder in the last line if it was written. */
export function printKernelDispatch(how: Printing, outcome: KernelDispatch): void {
  const { out, err } = how.streams;
  for (const note of outcome.notes) err.write(`Note: ${note}.\n`);
  const { table, ...rest } = outcome;
  if (how.json) {
    const { device, problem } = outcome;
    const written = table ?? { schemaVersion: 1, kind: 'dispatch-table', problem, device, entries: [], fallback: null };
    printJson(how.streams, { ...rest, ...written, folder: table ? outcome.folder : null, device });
    return;
  }
  printDocument(how, kernelDispatchDocument(outcome));
  out.write(table ? `\nFolder: ${outcome.folder}\n` : '\nFolder: none was written.\n');
}

/** Every workload's report and best, then the dispatch table. */
export function printPerWorkload(how: Printing, { runs, dispatch }: PerWorkloadOutcome): void {
  if (how.json) {
    const table = dispatch ? dispatchJson(dispatch) : null;
    printJson(how.streams, { schemaVersion: 1, kind: 'per-workload', runs: runs.map(outcomeJson), dispatch: table });
    return;
  }
  for (const outcome of runs) printText(how, outcome);
  if (dispatch) printDispatch(how, dispatch);
}
