import type { KernelDispatch } from '../../src/app/dispatch-kernels.ts';
import { assignments } from '../../src/core/values.ts';
import { formatMeasuredNs } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';

/** docs/results/h200-attention-dispatch.json: what `dispatch --kernels` printed. */
export type DispatchRecording = Pick<
  KernelDispatch,
  'device' | 'kernels' | 'rows' | 'complete' | 'largestLoss' | 'versions' | 'recordedAt' | 'tier' | 'blocks'
>;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** One row per workload: the kernel that the table takes, its time, the fastest contender, and the loss. */
export function dispatchRows(recording: DispatchRecording): string {
  const { device, kernels, rows, complete, largestLoss, versions, recordedAt, tier, blocks } = recording;
  const nameOf = (id: string): string => {
    const { kernel, parameters } = kernels.find((one) => one.id === id)!;
    const settings = assignments(parameters as Readonly<Record<string, number>>).join(', ');
    return `\`${kernel}\`${settings === '' ? '' : ` (${settings})`}`;
  };
  const cells = rows.map(({ workload, chosen, contenders }) => {
    const timed = contenders.filter(({ outcome }) => outcome === 'timed').length;
    if (!chosen) return [workload, 'none', '–', '–', '–', String(timed)];
    const isFastest = chosen.candidate === chosen.fastest;
    const fastest = `${nameOf(chosen.fastest)}, ${formatMeasuredNs(chosen.fastestNs)}`;
    return [
      workload,
      nameOf(chosen.candidate),
      formatMeasuredNs(chosen.medianNs),
      isFastest ? 'the same' : fastest,
      percent(chosen.loss),
      String(timed),
    ];
  });
  const titles = ['Workload', 'Chosen', 'Time', 'Fastest single kernel', 'Loss', 'Measured'];
  const columns = titles.map((title) =>
    ['Time', 'Loss', 'Measured'].includes(title) ? { title, align: 'right' as const } : { title },
  );
  const taken = new Set(rows.flatMap(({ chosen }) => (chosen ? [chosen.candidate] : []))).size;
  const largest = largestLoss
    ? `With ${taken} kernels, no row takes more than ${percent(largestLoss.loss)} longer than its fastest contender (${largestLoss.workload}). `
    : '';
  const rest = complete ? '' : 'Time ran out before the other rows of the table were judged. ';
  const length = blocks === undefined ? `tier ${tier}` : `${blocks} blocks`;
  return (
    `${markdownTable(columns, cells)}\n\n${largest}${rest}All times are measured, hot, by graph replay, ${length}; the contenders of a row ran in the same ` +
    'blocks, each result checked. Measured: how many of the row’s contenders a first look had not ruled out, and that passed. ' +
    `${device.name}, driver ${device.driver ?? 'unknown'}, ${versions.compiler ?? 'nvrtc'}, ${recordedAt.slice(0, 10)}.`
  );
}
