import type { ProfileMetric } from '../../core/profile.ts';
import { parseCsv, parseNumber } from './csv.ts';

/** One profiled launch as ncu's raw page prints it: a column for each metric, a row of units, a row for each launch. */
export interface RawLaunch {
  readonly kernelName: string;
  readonly grid: string;
  readonly block: string;
  readonly metrics: Readonly<Record<string, ProfileMetric>>;
  /** Metrics with a value for each of their instances, e.g. opcodes: instance → value. */
  readonly instances: Readonly<Record<string, ReadonlyMap<string, number>>>;
  /** Metrics that were asked for and have no number. */
  readonly unavailable: readonly string[];
}

/** Columns that say what was launched; the others are metrics. */
const IDENTITY_COLUMNS = new Set([
  'ID',
  'Process ID',
  'Process Name',
  'Host Name',
  'Kernel Name',
  'Kernel Time',
  'Context',
  'Stream',
  'Block Size',
  'Grid Size',
  'Device',
  'CC',
]);

/** Facts of the GPU and its links, not of the launch. */
const FACTS_OF_THE_DEVICE = /^(device__|nvlink|numa__|c2clink__|pcie__)/;

/** The launches of `ncu --csv --page raw`, in launch order. Text before the table, ncu's own messages, is skipped. */
export function parseRawPage(text: string): RawLaunch[] {
  const start = text.search(/^"ID",/m);
  if (start < 0) return [];
  const [header = [], units = [], ...rows] = parseCsv(text.slice(start));
  return rows
    .filter((row) => row.length === header.length && row[0] !== '')
    .map((row) => rawLaunch(header, units, row));
}

function rawLaunch(header: readonly string[], units: readonly string[], row: readonly string[]): RawLaunch {
  const metrics: Record<string, ProfileMetric> = {};
  const instances: Record<string, ReadonlyMap<string, number>> = {};
  const unavailable: string[] = [];
  const cell = (column: string): string => row[header.indexOf(column)] ?? '';
  header.forEach((name, i) => {
    if (IDENTITY_COLUMNS.has(name) || FACTS_OF_THE_DEVICE.test(name)) return;
    const { value, byInstance } = parseCell(row[i]!);
    if (byInstance) instances[name] = byInstance;
    if (value !== undefined) metrics[name] = { value, unit: units[i] ?? '' };
    else if (/^(n\/a|)$/i.test(row[i]!.trim())) unavailable.push(name);
  });
  return {
    kernelName: cell('Kernel Name'),
    grid: cell('Grid Size'),
    block: cell('Block Size'),
    metrics,
    instances,
    unavailable,
  };
}

/** `1,024`, or with its instances `1,024 (FFMA: 1,000; BRA: 24)`. */
function parseCell(text: string): { value?: number; byInstance?: ReadonlyMap<string, number> } {
  const total = parseNumber(text);
  if (total !== undefined) return { value: total };
  const match = /^([-+\d.,e]*)\s*\((.*)\)$/is.exec(text.trim());
  if (!match) return {};
  const byInstance = new Map<string, number>();
  for (const item of match[2]!.split(';')) {
    const colon = item.lastIndexOf(':');
    const value = parseNumber(item.slice(colon + 1));
    if (colon > 0 && value !== undefined) byInstance.set(item.slice(0, colon).trim(), value);
  }
  const value = parseNumber(match[1]!);
  return { ...(value !== undefined && { value }), ...(byInstance.size > 0 && { byInstance }) };
}
