import { assignments } from '../../core/values.ts';
import * as doc from '../document.ts';
import { formatCount, formatNs, formatPercent } from '../format.ts';

/** A table made of given kernels, structurally. */
export interface KernelDispatchSummary {
  readonly device: { readonly name: string };
  readonly complete: boolean;
  readonly kernels: readonly { readonly id: string; readonly kernel: string; readonly parameters: object }[];
  readonly rows: readonly DispatchRowSummary[];
  readonly largestLoss: { readonly workload: string; readonly loss: number } | null;
}

interface DispatchRowSummary {
  readonly workload: string;
  readonly cache: 'hot' | 'cold';
  readonly failure?: string;
  readonly chosen: {
    readonly candidate: string;
    readonly medianNs: number;
    readonly fastest: string;
    readonly fastestNs: number;
    readonly loss: number;
  } | null;
  readonly contenders: readonly ContenderSummary[];
}

type ContenderSummary = { readonly candidate: string } & (
  | { readonly outcome: 'timed'; readonly kind: 'measured' | 'predicted'; readonly medianNs: number }
  | { readonly outcome: 'ruled-out' | 'not-applicable'; readonly reason: string }
  | { readonly outcome: 'failed'; readonly status: string; readonly reason: string }
);

/** Which kernel the table takes at each workload, and what that costs beside the fastest one there. */
export function kernelDispatchDocument(summary: KernelDispatchSummary): doc.Document {
  const { device, rows, kernels, largestLoss, complete } = summary;
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
          kernels.map(({ id, parameters }) => {
            const settings = assignments(parameters as Readonly<Record<string, number>>).join(', ');
            return `${nameOf(id)}: ${settings === '' ? 'no parameters' : settings}`;
          }),
        ),
      ]),
      doc.detail('left-out', 'Left out', [
        doc.list(rows.flatMap((row) => leftOut(row).map(([id, why]) => `${row.workload}, ${nameOf(id)}: ${why}`))),
      ]),
    ],
  );
}

const leftOut = ({ contenders }: DispatchRowSummary): (readonly [string, string])[] =>
  contenders.flatMap((one): (readonly [string, string])[] => {
    if (one.outcome === 'timed') return [];
    return [[one.candidate, one.outcome === 'failed' ? `${one.status}: ${one.reason}` : one.reason]];
  });
