import { type DoctorReport, doctor } from '../../app/doctor/doctor.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { bad, type Document, dim, documentOf, fold, good, type Inline, list } from '../../reports/document.ts';
import type { Run } from '../context.ts';
import { printResult } from '../output.ts';

/** Titles in the one line. */
const MOST_NAMED = 2;

const STYLES = { ok: good, failed: bad, absent: dim } as const;

type Checks = DoctorReport['checks'];

const line = ({ verdict, title, detail, hint }: Checks[number]): Inline => [
  STYLES[verdict](verdict.padEnd(6)),
  `  ${title}: ${detail}`,
  hint ? `\n${hint}` : '',
];

/** `NVIDIA GPU, NVRTC and 5 more`. */
function named(checks: Checks): string {
  const titles = checks.map(({ title }) => title);
  return titles.length > MOST_NAMED + 1
    ? `${titles.slice(0, MOST_NAMED).join(', ')} and ${titles.length - MOST_NAMED} more`
    : titles.join(', ');
}

/** One line if every check passed or only optional tools are absent. */
function doctorDocument({ checks, ok }: DoctorReport): Document {
  const [failed, absent] = (['failed', 'absent'] as const).map((one) =>
    checks.filter(({ verdict }) => verdict === one),
  );
  const working = checks.length - failed!.length - absent!.length;
  const without = absent!.length > 0 ? `; absent: ${named(absent!)}` : '';
  const title = ok
    ? [good('Ready'), `: ${working} of ${checks.length} checks passed${without}`]
    : [bad('Something that is needed is missing'), `: ${named(failed!)}`];
  return documentOf(title, [list(failed!.map(line)), fold('What works on this machine', [list(checks.map(line))])]);
}

export const run: Run<RequestOf<'doctor'>> = async (_request, context) => {
  const report = await doctor();
  printResult(context, report, doctorDocument);
  return report.ok ? EXIT.ok : EXIT.deviceOrToolMissing;
};
