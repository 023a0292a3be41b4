import { parseCsv, parseMetricCell } from './csv.ts';

/** Metrics with a value for each of their instances, e.g. opcodes: metric → instance → value. */
export type MetricInstances = Readonly<Record<string, ReadonlyMap<string, number>>>;

/**
 * The values by instance of `ncu --csv --page raw`, for each launch in launch order: a column for each metric, a row of
 * units, a row for each launch. Text before the table, ncu's own messages, is skipped.
 */
export function parseRawPage(text: string): MetricInstances[] {
  const start = text.search(/^"ID",/m);
  if (start < 0) return [];
  const [header = [], _units, ...rows] = parseCsv(text.slice(start));
  return rows
    .filter((row) => row.length === header.length && row[0] !== '')
    .map((row) =>
      Object.fromEntries(
        header.flatMap((name, i) => {
          const { byInstance } = parseMetricCell(row[i]!);
          return byInstance ? [[name, byInstance]] : [];
        }),
      ),
    );
}
