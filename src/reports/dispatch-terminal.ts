import { formatNs } from './format.ts';
import { type Column, textTable } from './table.ts';

/** A dispatch table as the terminal shows it. */
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
export function dispatchTerminal(
  { device, entries, fallback }: DispatchSummary,
  times: Readonly<Record<string, Readonly<Record<string, number>>>>,
): string {
  const ids = [...new Set(Object.values(times).flatMap((row) => Object.keys(row)))];
  const columns: Column[] = [
    { title: 'Workload' },
    ...ids.map((id) => ({ title: id, align: 'right' as const })),
    { title: 'Taken' },
  ];
  const rows = entries.map(({ workload, candidate, kind }) => [
    workload,
    ...ids.map((id) => {
      const ns = times[workload]?.[id];
      return ns === undefined ? '–' : `${kind} ${formatNs(ns)}`;
    }),
    `${candidate.kernel} (${candidate.id})`,
  ]);
  const kernels = new Set(entries.map(({ candidate }) => candidate.id)).size;
  return [
    `Dispatch table for ${device.name}: ${entries.length} workload${entries.length === 1 ? '' : 's'}, ${kernels} kernel${kernels === 1 ? '' : 's'}`,
    textTable(columns, rows),
    `Any other call goes to the nearest of these, or to ${fallback.candidate.kernel} (${fallback.candidate.id}) where none takes it.`,
  ].join('\n');
}
