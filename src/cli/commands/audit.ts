import { audit } from '../../app/audit.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { auditDocument } from '../../reports/documents/audit.ts';
import type { Run } from '../context.ts';
import { surroundings } from '../judging-request.ts';
import { printResult } from '../output.ts';
import { withStatus } from '../status-line.ts';

export const run: Run<RequestOf<'audit'>> = async (request, context) => {
  const { streams } = context;
  const report = await withStatus(streams.err, (told) => audit({ ...request, ...surroundings(context), ...told }));
  printResult(context, report, auditDocument);
  return report.ok ? EXIT.ok : EXIT.judgedFailed;
};
