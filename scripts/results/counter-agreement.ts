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

/** docs/results: what ncu and the virtual GPU count of the same PTX. */
const RECORDINGS = ['h200-counters', 'h100-counters'] as const;

const right = (title: string) => ({ title, align: 'right' as const });

interface Agreement {
  readonly by: 'launch' | 'source line';
  readonly of: readonly CounterAgreement[];
}

async function read(name: string): Promise<CounterRecording> {
  return JSON.parse(await readFile(new URL(`docs/results/${name}.json`, ROOT), 'utf8')) as CounterRecording;
}

const comparedIn = ({ entries }: CounterRecording) =>
  Object.values(entries).filter(({ virtual }) => virtual !== undefined);

function agreementsIn(recording: CounterRecording): Agreement[] {
  const compared = comparedIn(recording);
  return [
    { by: 'launch', of: agreementOf(compared) },
    { by: 'source line', of: agreementBySite(compared) },
  ];
}

const cellsOf = (one: CounterAgreement | undefined): string[] =>
  one ? [String(one.count), String(one.equal), one.ratio.toFixed(3)] : ['–', '–', '–'];

/** Of the counts by line, how many are equal. */
function sitesIn(recording: CounterRecording): string {
  const bySite = agreementBySite(comparedIn(recording));
  const sum = (of: (agreement: CounterAgreement) => number): number => bySite.reduce((all, one) => all + of(one), 0);
  const [equal, sites] = [sum((one) => one.equal), sum((one) => one.count)];
  return `${equal} of ${sites} (${Math.floor((100 * equal) / sites)} %)`;
}

export async function counterAgreementBlocks(): Promise<Record<string, string>> {
  const recordings = await Promise.all(RECORDINGS.map(read));
  const agreements = recordings.map(agreementsIn);
  const rows = agreements[0]!.flatMap(({ by, of }, part) =>
    of.map(({ counter }) => [
      `\`${counter}\``,
      by,
      ...agreements.flatMap((parts) => cellsOf(parts[part]!.of.find((one) => one.counter === counter))),
    ]),
  );
  const names = recordings.map(({ device }) => device.replace('NVIDIA ', '').split(' ')[0]!);
  const columns = [
    { title: 'Counter' },
    { title: 'By' },
    ...names.flatMap((name) => [`${name}: counted`, 'equal', 'virtual ÷ ncu'].map(right)),
  ];
  const described = recordings.map(
    (recording) =>
      `${recording.device}, driver ${recording.driver}, ${recording.compiler}, ${recording.recordedAt.slice(0, 10)}: ` +
      `${formatCount(comparedIn(recording).length, 'kernel')} and settings; of the counts by line, ${sitesIn(recording)} are equal.`,
  );
  return {
    'counter-agreement':
      `${markdownTable(columns, rows)}\n\n${described.join('\n')}\n` +
      'Counted: launches or lines where either counts something. The ratio is the geometric mean where both count something.',
  };
}
