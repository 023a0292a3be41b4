import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { accuracyOf, type Prediction, predictAll, withinGroups } from '../../bench/time-model/accuracy.ts';
import { readTimes, type TimeRecording } from '../../bench/time-model/recorded-times.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { MACHINE_CODE } from '../../src/hardware/launch-model/constants.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { ROOT } from './recordings.ts';

/** By bench/time-model/record.ts and count.ts. */
const FILE = fileURLToPath(new URL('docs/results/h200-times.json', ROOT));
/** By bench/time-model/count-rows.ts. */
const ROWS = fileURLToPath(new URL('docs/results/h200-rows-counted.json', ROOT));

const share = (ratio: number): string => `${Math.round(100 * ratio)} %`;
const factor = (value: number): string => `${value.toFixed(2)}×`;
const right = (title: string) => ({ title, align: 'right' as const });

const COLUMNS = [
  { title: 'Kernels' },
  ...['measured', 'error, geometric mean', 'largest error', 'within the interval', 'τ', 'best predicted'].map(right),
];

function row(title: string, predictions: readonly Prediction[], isOneProblem: boolean): string[] {
  const { count, error, worst, within } = accuracyOf(predictions);
  const [ranked] = isOneProblem ? withinGroups(predictions, ({ problem }) => problem) : [];
  return [
    title,
    String(count),
    factor(error),
    factor(worst),
    share(within),
    ranked ? ranked.tau.toFixed(2) : '–',
    ranked ? factor(ranked.regret) : '–',
  ];
}

/** Predictions for attention's kernels in rows of the tables that compare them with libraries. */
async function rowsBlock(): Promise<string> {
  const { device, recordedAt } = JSON.parse(await readFile(ROWS, 'utf8')) as TimeRecording;
  const predictions = predictAll(await readTimes(ROWS), DEVICE_SPECS.get('h200')!, MACHINE_CODE);
  const rungs = [...Map.groupBy(predictions, ({ kernel }) => kernel)].sort(([a], [b]) => a.localeCompare(b));
  const rows = [
    ...rungs.map(([kernel, members]) => row(`\`${kernel}\``, members, false).slice(0, -2)),
    row('all', predictions, false).slice(0, -2),
  ];
  const { tau } = accuracyOf(predictions);
  return (
    `${markdownTable(COLUMNS.slice(0, -2), rows)}\n\n` +
    `Kendall's τ between all predicted and measured times: ${tau.toFixed(2)}. ${device}, counted on ${recordedAt.slice(0, 10)}.`
  );
}

/** Predictions of today's model, which knows none of these times, beside what a GPU measured. */
export async function timeAccuracyBlocks(): Promise<Record<string, string>> {
  const { device, driver, compiler, recordedAt } = JSON.parse(await readFile(FILE, 'utf8')) as TimeRecording;
  const predictions = predictAll(await readTimes(FILE), DEVICE_SPECS.get('h200')!, MACHINE_CODE);
  const own = predictions.filter(({ problem }) => problem !== 'corpus');
  const others = predictions.filter(({ problem }) => problem === 'corpus');
  const problems = [...Map.groupBy(own, ({ problem }) => problem)].sort(([a], [b]) => a.localeCompare(b));
  const rows = [
    ...problems.map(([problem, members]) => row(problem, members, true)),
    row('all problems', own, false),
    row('`test/corpus`, each another task', others, false),
  ];
  return {
    'rows-accuracy': await rowsBlock(),
    'time-accuracy':
      `${markdownTable(COLUMNS, rows)}\n\n${device}, driver ${driver}, ${compiler}, ${recordedAt.slice(0, 10)}. τ: order of the ` +
      'settings of one problem on one workload. Best predicted: measured time of the setting that is predicted to be the fastest ÷ ' +
      'that of the fastest.',
  };
}
