import { checkTarget } from '../../app/check.ts';
import { EXIT } from '../../core/errors.ts';
import type { ParameterValues } from '../../core/kernel.ts';
import { checkTerminal } from '../../reports/check-terminal.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<{ target: string; workload?: string; set?: ParameterValues; json?: boolean }> = async (
  { target, workload, set, json },
  { streams },
) => {
  const report = await checkTarget({
    target,
    parameters: set ?? {},
    workload,
  });
  if (json) printJson(streams, report);
  else streams.out.write(checkTerminal(report, paintFor(streams.out)));
  return EXIT.ok;
};
