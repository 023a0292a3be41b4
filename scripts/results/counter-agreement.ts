import { readFile } from 'node:fs/promises';
import {
  agreementBySite,
  agreementOf,
  type CounterAgreement,
  type CounterRecording,
} from '../../bench/counters/counter-recording.ts';
import { formatCount } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { ROOT } from './recordings.ts';

const right = (title: string) => ({ title, align: 'right' as const });
const COLUMNS = [{ title: 'Counter' }, { title: 'By' }, right('counted'), right('equal'), right('virtual ÷ ncu')];

const rowOf =
  (by: string) =>
  ({ counter, count, equal, ratio }: CounterAgreement): string[] => [
    `\`${counter}\``,
    by,
    String(count),
    String(equal),
    ratio.toFixed(3),
  ];

/** docs/results/h200-counters.json: what ncu and the virtual GPU count of the same PTX. */
export async function counterAgreementBlocks(): Promise<Record<string, string>> {
  const text = await readFile(new URL('docs/results/h200-counters.json', ROOT), 'utf8');
  const { entries, device, driver, compiler, recordedAt } = JSON.parse(text) as CounterRecording;
  const compared = Object.values(entries).filter(({ virtual }) => virtual !== undefined);
  const bySite = agreementBySite(compared);
  const sum = (of: (agreement: CounterAgreement) => number): number => bySite.reduce((all, one) => all + of(one), 0);
  const [equal, sites] = [sum((one) => one.equal), sum((one) => one.count)];
  const rows = [...agreementOf(compared).map(rowOf('launch')), ...bySite.map(rowOf('source line'))];
  return {
    'counter-agreement':
      `${markdownTable(COLUMNS, rows)}\n\n${formatCount(compared.length, 'kernel')} and settings on an ${device}, driver ${driver}, ` +
      `${compiler}, ${recordedAt.slice(0, 10)}. Counted: launches or lines where either counts something. Of the counts by line, ` +
      `${equal} of ${sites} are equal (${Math.floor((100 * equal) / sites)} %). The ratio is the geometric mean where both count something.`,
  };
}
