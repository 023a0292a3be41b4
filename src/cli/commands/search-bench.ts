import { searchBench, writeSearchBenchPlot } from '../../app/search-bench.ts';
import { EXIT } from '../../core/errors.ts';
import { searchBenchTerminal } from '../../reports/search-bench-terminal.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';
import { createStatusLine } from '../status-line.ts';

interface Options {
  file: string;
  strategy?: string[];
  seeds: number;
  evaluations: number;
  within: number;
  svg?: string;
  json?: boolean;
}

export const run: Run<Options> = async (
  { file, strategy: strategies, seeds, evaluations, within, svg, json },
  { streams, signal },
) => {
  const status = createStatusLine(streams.err);
  const onStrategy = (name: string, index: number, count: number) =>
    status.step(`strategy ${index + 1} of ${count}: ${name}`);
  const report = await searchBench({ file, strategies, seeds, evaluations, within, signal, onStrategy }).finally(() =>
    status.clear(),
  );
  if (svg !== undefined) writeSearchBenchPlot(report, svg);
  if (json) printJson(streams, report);
  else streams.out.write(searchBenchTerminal(report, paintFor(streams.out)));
  return EXIT.ok;
};
