import type { DeviceIdentity } from '../../core/device.ts';
import type { ParameterValues } from '../../core/kernel.ts';
import type { Dimensions } from '../../core/problem.ts';
import type { FailureStatus } from '../../core/status.ts';
import * as doc from '../document.ts';
import { formatCount, formatNs, formatParameters, formatPercent } from '../format.ts';

/** What became of a contender at a workload. */
export type ContenderOutcome = {
  readonly candidate: string;
  /** Of a few unverified runs. It rules a contender out and is no result. */
  readonly roughNs?: number | undefined;
} & (
  | {
      readonly outcome: 'timed';
      readonly kind: 'measured' | 'predicted';
      readonly medianNs: number;
      /** Measured: 95 %. */
      readonly intervalNs?: readonly [number, number] | undefined;
      readonly blockCount?: number | undefined;
    }
  | { readonly outcome: 'ruled-out' | 'not-applicable'; readonly reason: string }
  | { readonly outcome: 'failed'; readonly status: FailureStatus; readonly reason: string }
);

/** The kernel that the table takes for a workload, beside the fastest one there. */
export interface ChosenKernel {
  readonly candidate: string;
  readonly medianNs: number;
  readonly fastest: string;
  readonly fastestNs: number;
  /** Its time ÷ the fastest one's − 1. */
  readonly loss: number;
}

/** One workload: what became of each contender there. */
export interface DispatchRow {
  readonly workload: string;
  readonly dimensions: Dimensions;
  readonly cache: 'hot' | 'cold';
  readonly seed: number;
  /** ISO 8601, UTC. */
  readonly judgedAt: string;
  /** What judged it, if that was none of the devices of this call: an interrupted call kept the row, perhaps on another machine. */
  readonly judgedOn?: { readonly device: DeviceIdentity; readonly processor: string };
  readonly contenders: readonly ContenderOutcome[];
  /** Why the workload as a whole could not be judged. */
  readonly failure?: string;
  /** `null` if no contender passed. */
  readonly chosen: ChosenKernel | null;
}

/** What came of making a table of given kernels. */
export interface JudgedKernels {
  readonly device: DeviceIdentity;
  /** Whether every workload was judged before an interruption. */
  readonly complete: boolean;
  readonly kernels: readonly { readonly id: string; readonly kernel: string; readonly parameters: ParameterValues }[];
  readonly rows: readonly DispatchRow[];
  /** The row that loses most by the table; `null` without rows. */
  readonly largestLoss: { readonly workload: string; readonly loss: number } | null;
}

/** Which kernel the table takes at each workload, and what that costs beside the fastest one there. */
export function kernelDispatchDocument(judged: JudgedKernels): doc.Document {
  const { device, rows, kernels, largestLoss, complete } = judged;
  const taken = new Set(rows.flatMap(({ chosen }) => (chosen ? [chosen.candidate] : [])));
  const nameOf = (id: string): string => `${kernels.find((one) => one.id === id)?.kernel ?? '?'} (${id.slice(0, 4)})`;
  const kind = rows.flatMap((row) => row.contenders.flatMap((one) => (one.outcome === 'timed' ? [one.kind] : [])))[0];
  const counts = `${formatCount(rows.length, 'workload')}, ${formatCount(taken.size, 'kernel')}`;
  return doc.documentOf(
    `Dispatch table for ${device.name}: ${counts}${complete ? '' : ', interrupted'}`,
    [
      doc.table('Chosen by workload', rows, [
        doc.words('workload', ({ workload }) => workload),
        doc.names('chosen', ({ chosen }) => (chosen ? nameOf(chosen.candidate) : 'none')),
        doc.figures(`${kind ?? ''} time`.trim(), ({ chosen }) => chosen && formatNs(chosen.medianNs)),
        doc.words('fastest', ({ chosen }) => chosen && nameOf(chosen.fastest), 2),
        doc.figures('best time', ({ chosen }) => chosen && formatNs(chosen.fastestNs)),
        doc.figures('loss', ({ chosen }) => chosen && formatPercent(chosen.loss)),
      ]),
      largestLoss &&
        doc.text(
          `Largest loss: ${formatPercent(largestLoss.loss)}, at ${largestLoss.workload}. Loss: how much longer the chosen kernel takes than the fastest one of the workload.`,
        ),
    ],
    [
      doc.section('kernels', 'Kernels', [
        doc.list(
          kernels.map(({ id, parameters }) => `${nameOf(id)}: ${formatParameters(parameters) || 'no parameters'}`),
        ),
      ]),
      doc.detail('left-out', 'Left out', [
        doc.list(rows.flatMap((row) => leftOut(row).map(([id, why]) => `${row.workload}, ${nameOf(id)}: ${why}`))),
      ]),
    ],
  );
}

const leftOut = ({ contenders }: DispatchRow): (readonly [string, string])[] =>
  contenders.flatMap((one): (readonly [string, string])[] => {
    if (one.outcome === 'timed') return [];
    return [[one.candidate, one.outcome === 'failed' ? `${one.status}: ${one.reason}` : one.reason]];
  });
