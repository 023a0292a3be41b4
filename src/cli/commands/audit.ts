import { audit } from '../../app/audit.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { auditTerminal } from '../../reports/audit-terminal.ts';
import type { Run } from '../context.ts';
import { surroundings } from '../judging-request.ts';
import { paintFor, printJson } from '../output.ts';
import { withStatusLine } from '../status-line.ts';

export const run: Run<RequestOf<'audit'>> = async (request, context) => {
  const { streams, json } = context;
  const report = await withStatusLine(streams.err, (onStep) => audit({ ...request, ...surroundings(context), onStep }));
  if (json) printJson(streams, report);
  else streams.out.write(auditTerminal(report, paintFor(streams.out)));
  return report.ok ? EXIT.ok : EXIT.judgedFailed;
};
