import { show } from '../../app/runs.ts';
import { EXIT } from '../../core/errors.ts';
import { showTerminal } from '../../reports/show-terminal.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';

export const run: Run<{ what: string; store: string; json?: boolean }> = async ({ what, store, json }, { streams }) => {
  const shown = show(store, what);
  if (json) printJson(streams, shown);
  else streams.out.write(showTerminal(shown, paintFor(streams.out)));
  return EXIT.ok;
};
