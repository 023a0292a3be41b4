import { type DoctorReport, doctor } from '../../app/doctor/doctor.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { textTable } from '../../reports/table.ts';
import type { Run } from '../context.ts';
import { paintFor, printJson, type Streams } from '../output.ts';

const STYLES = { ok: 'green', failed: 'red', absent: 'dim' } as const;

function printText({ out }: Streams, { checks, ok }: DoctorReport): void {
  const paint = paintFor(out);
  const rows = checks.map(({ verdict, title, detail }) => [verdict, title, detail]);
  const lines = textTable([{ title: 'verdict' }, { title: 'what' }, { title: 'detail' }], rows)
    .split('\n')
    .slice(1);
  checks.forEach(({ verdict, hint }, index) => {
    const line = lines[index]!;
    out.write(`${paint(STYLES[verdict], verdict)}${line.slice(verdict.length)}\n`);
    if (hint) out.write(`         ${hint}\n`);
  });
  out.write(ok ? '\nReady.\n' : '\nSomething that is needed is missing.\n');
}

export const run: Run<RequestOf<'doctor'>> = async (_request, { streams, json }) => {
  const report = await doctor();
  if (json) printJson(streams, report);
  else printText(streams, report);
  return report.ok ? EXIT.ok : EXIT.deviceOrToolMissing;
};
