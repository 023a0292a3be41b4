import { exportCandidate } from '../../app/export.ts';
import { EXIT } from '../../core/errors.ts';
import type { ParameterValues } from '../../core/kernel.ts';
import type { Run } from '../context.ts';
import { printJson } from '../output.ts';

interface Options {
  target: string;
  store: string;
  set?: ParameterValues;
  output: string;
  name?: string;
  json?: boolean;
}

export const run: Run<Options> = async ({ target, store, set, output, name, json }, { streams }) => {
  const report = await exportCandidate({
    target,
    store,
    parameters: set ?? {},
    output,
    ...(name === undefined ? {} : { name }),
  });
  for (const note of report.notes) streams.err.write(`Note: ${note}.\n`);
  if (json) printJson(streams, report);
  else
    streams.out.write(
      `${[...report.evidence, ...report.files.map((file) => `  ${file}`), report.folder].join('\n')}\n`,
    );
  return EXIT.ok;
};
