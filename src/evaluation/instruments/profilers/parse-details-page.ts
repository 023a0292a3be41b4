import type { ProfileMetric, ProfilerRule } from '../../../core/profile.ts';
import { parseCsv, parseMetricCell, parseNumber } from './csv.ts';

/** One profiled launch: the requested metrics by name, and the sections' own figures, `<section>: <label>`. */
export interface DetailsLaunch {
  readonly kernelName: string;
  readonly metrics: Readonly<Record<string, ProfileMetric>>;
  /** Metrics with a value for each of their instances, e.g. opcodes: metric → instance → value. */
  readonly instances: Readonly<Record<string, ReadonlyMap<string, number>>>;
  /** Metrics that were asked for and have no number. */
  readonly unavailable: readonly string[];
}

/** A rule's result. */
export interface DetailsRule extends Omit<ProfilerRule, 'functionName'> {
  /** Number of the profiled launch, from 0. */
  readonly launchIndex: number;
  /** `OPT`: something to gain; `WRN`: something doubtful; `INF`: a remark. */
  readonly kind: string;
}

export interface DetailsPage {
  readonly launches: DetailsLaunch[];
  readonly rules: DetailsRule[];
}

/** The section that ncu makes of `--metrics`. */
const ASKED_FOR = 'Command line profiler metrics';
/** A rule that complains about missing metrics says nothing about the kernel. */
const ABOUT_ITSELF = /^The optional metric \S+ could not be found/;

type Row = (column: string) => string;

/**
 * Parses `ncu --csv --page details`: a row for each metric, figure and rule of each launch, in launch order. Skips ncu's
 * own messages before the table.
 */
export function parseDetailsPage(text: string): DetailsPage {
  const start = text.search(/^"ID",/m);
  if (start < 0) return { launches: [], rules: [] };
  const [header = [], ...cells] = parseCsv(text.slice(start));
  const byLaunch = new Map<string, Row[]>();
  for (const row of cells) {
    const cell: Row = (column) => row[header.indexOf(column)] ?? '';
    const id = cell('ID');
    if (!/^\d+$/.test(id)) continue;
    byLaunch.set(id, [...(byLaunch.get(id) ?? []), cell]);
  }
  const launches = [...byLaunch.values()];
  return {
    launches: launches.map(launchOf),
    rules: launches.flatMap((rows, launchIndex) => rows.flatMap((row) => ruleOf(row, launchIndex))),
  };
}

function launchOf(rows: readonly Row[]): DetailsLaunch {
  const metrics: Record<string, ProfileMetric> = {};
  const instances: Record<string, ReadonlyMap<string, number>> = {};
  const unavailable: string[] = [];
  for (const cell of rows) {
    const [section, label] = [cell('Section Name'), cell('Metric Name')];
    if (label === '') continue;
    const name = section === ASKED_FOR ? label : `${section}: ${label}`;
    const { value, byInstance } = parseMetricCell(cell('Metric Value'));
    if (byInstance) instances[name] = byInstance;
    if (value !== undefined) metrics[name] = { value, unit: cell('Metric Unit') };
    else if (section === ASKED_FOR && !byInstance) unavailable.push(name);
  }
  return { kernelName: rows[0]!('Kernel Name'), metrics, instances, unavailable };
}

function ruleOf(cell: Row, launchIndex: number): DetailsRule[] {
  const id = cell('Rule Name');
  const text = cell('Rule Description').replaceAll(/\s+/g, ' ').trim();
  if (id === '' || ABOUT_ITSELF.test(text)) return [];
  const percent = parseNumber(cell('Estimated Speedup'));
  const isOfTime = cell('Estimated Speedup Type').toLowerCase() === 'global';
  return [
    {
      id,
      title: RULE_TITLES[id] ?? spelledOut(id),
      message: withoutLinks(text),
      launchIndex,
      kind: cell('Rule Type'),
      ...(percent !== undefined && {
        estimatedSpeedupPercent: percent,
        estimateScope: isOfTime ? 'launch' : 'unit',
      }),
    },
  ];
}

/** Rules whose names say little. */
const RULE_TITLES: Readonly<Record<string, string>> = {
  SOLBottleneck: 'what the launch is bound by',
  CPIStall: 'what warps wait for',
  FPInstructions: 'floating-point instructions',
  HighPipeUtilization: 'busiest pipeline',
};

/** `UncoalescedGlobalAccess` → `uncoalesced global access`. */
const spelledOut = (rule: string): string =>
  rule
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/\b([A-Z])([a-z]+)/g, (_, first: string, rest: string) => first.toLowerCase() + rest);

/** Splits a text into sentences, at full stops before capital letters. */
export const sentencesOf = (text: string): string[] => text.split(/(?<=[.!?])\s+(?=[A-Z])/);

/** Sentences that only point to the manual are left out. */
function withoutLinks(text: string): string {
  const own = sentencesOf(text).filter((sentence) => !/https?:\/\//.test(sentence));
  return own.length > 0 ? own.join(' ') : text;
}
