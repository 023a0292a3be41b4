import { audit } from '../../app/audit.ts';
import { EXIT } from '../../core/errors.ts';
import { auditTerminal } from '../../reports/audit-terminal.ts';
import { askTrust } from '../ask-trust.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson } from '../output.ts';
import { createStatusLine } from '../status-line.ts';

export const run: Run<{ target: string; seed: number; trust?: boolean; json?: boolean }> = async (options, context) => {
  const { target, seed, json } = options;
  const { streams, signal } = context;
  const status = createStatusLine(streams.err);
  const onCheck = (check: string, index: number, count: number) =>
    status.step(`check ${index + 1} of ${count}: ${check}`);
  const report = await audit({ target, seed, signal, onCheck, ...askTrust(options, context) }).finally(() =>
    status.clear(),
  );
  if (json) printJson(streams, report);
  else streams.out.write(auditTerminal(report, paintFor(streams.out)));
  return report.ok ? EXIT.ok : EXIT.judgedFailed;
};
