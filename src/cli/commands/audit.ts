import { audit } from '../../app/audit.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { auditDocument } from '../../reports/documents/audit.ts';
import type { Run } from '../context.ts';
import { surroundings } from '../judging-request.ts';
import { printResult } from '../output.ts';
import { withStatusLine } from '../status-line.ts';

export const run: Run<RequestOf<'audit'>> = async (request, context) => {
  const { streams } = context;
  const report = await withStatusLine(streams.err, (onStep) => audit({ ...request, ...surroundings(context), onStep }));
  printResult(context, report, auditDocument);
  return report.ok ? EXIT.ok : EXIT.judgedFailed;
};
