import { type Document, documentOf, figures, table, text, words } from '../document.ts';
import { formatCount, formatNs } from '../format.ts';

/** A dispatch table, structurally. */
export interface DispatchSummary {
  readonly device: { readonly name: string };
  readonly entries: readonly {
    readonly workload: string;
    readonly candidate: { readonly id: string; readonly kernel: string };
    readonly kind: 'measured' | 'predicted';
  }[];
  readonly fallback: { readonly candidate: { readonly id: string; readonly kernel: string } };
}

/**
 * Every winner's time on every workload, and which one the table takes.
 *
 * @param times workload → candidate id → time in ns.
 */
export function dispatchDocument(
  { device, entries, fallback }: DispatchSummary,
  times: Readonly<Record<string, Readonly<Record<string, number>>>>,
): Document {
  const ids = [...new Set(Object.values(times).flatMap((row) => Object.keys(row)))];
  const kernels = new Set(entries.map(({ candidate }) => candidate.id)).size;
  const winners = table('Winners by workload', entries, [
    words('Workload', ({ workload }) => workload),
    ...ids.map((id) =>
      figures<DispatchSummary['entries'][number]>(id, ({ workload, kind }) => {
        const ns = times[workload]?.[id];
        return ns === undefined ? '–' : `${kind} ${formatNs(ns)}`;
      }),
    ),
    words('Taken', ({ candidate }) => `${candidate.kernel} (${candidate.id})`),
  ]);
  const { kernel, id } = fallback.candidate;
  return documentOf(
    `Dispatch table for ${device.name}: ${formatCount(entries.length, 'workload')}, ${formatCount(kernels, 'kernel')}`,
    [winners, text(`Any other call goes to the nearest of these, or to ${kernel} (${id}) if none of them takes it.`)],
  );
}
