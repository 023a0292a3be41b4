import type { OptimizeOutcome } from '../app/optimize.ts';
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
