import { type ImportReport, importProblem } from '../../app/import/import-problem.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import * as doc from '../../reports/document.ts';
import type { Run } from '../context.ts';
import { surroundings } from '../judging-request.ts';
import { printResult } from '../output.ts';

export const run: Run<RequestOf<'import'>> = async (request, context) => {
  const report = await importProblem({ ...request, ...surroundings(context) });
  printResult(context, report, ({ folder, files, notes, letThrough }) =>
    doc.documentOf(`Problem folder ${folder}.`, [
      doc.list([...files]),
      doc.list([...notes]),
      letThrough && doc.list(auditLines(letThrough)),
      doc.text(`Next: warpsmith check ${folder}; warpsmith audit ${folder}; write 01_start`),
    ]),
  );
  return EXIT.ok;
};

const auditLines = ({ originally, now, count }: NonNullable<ImportReport['letThrough']>): string[] => [
  ...originally.map(
    ({ rule, letThrough }) =>
      `Of ${count} wrong kernels, the original checks (${rule}) let through ${listed(letThrough)}.`,
  ),
  `These checks let through ${listed(now)}.`,
];

const listed = (ids: readonly string[]): string => (ids.length === 0 ? 'none' : `${ids.length}: ${ids.join(', ')}`);
