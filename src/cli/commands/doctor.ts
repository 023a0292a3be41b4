import { type DoctorReport, doctor } from '../../app/doctor/doctor.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { bad, type Document, dim, documentOf, good, list, text } from '../../reports/document.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';

const STYLES = { ok: good, failed: bad, absent: dim } as const;

const doctorDocument = ({ checks, ok }: DoctorReport): Document =>
  documentOf('What works on this machine', [
    list(
      checks.map(({ verdict, title, detail, hint }) => [
        STYLES[verdict](verdict.padEnd(6)),
        `  ${title}: ${detail}`,
        hint ? `\n${hint}` : '',
      ]),
    ),
    text(ok ? good('Ready.') : bad('Something that is needed is missing.')),
  ]);

export const run: Run<RequestOf<'doctor'>> = async (_request, context) => {
  const report = await doctor();
  printResult(context, report, doctorDocument);
  return report.ok ? EXIT.ok : EXIT.deviceOrToolMissing;
};
