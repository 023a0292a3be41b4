import type { ProfilerRule } from '../../core/profile.ts';
import { parseCsv, parseNumber } from './csv.ts';

/** A rule's result as ncu's details page prints it. */
export interface DetailsRule extends Omit<ProfilerRule, 'functionName'> {
  /** Number of the profiled launch, from 0. */
  readonly launchIndex: number;
  /** `OPT`: something to gain; `WRN`: something doubtful; `INF`: a remark. */
  readonly kind: string;
  /** `global`: of the launch's time; `local`: of the efficiency of one unit. */
  readonly speedupScope: string;
}

/** The rules of `ncu --import … --csv --page details`: rows that name a rule. */
export function parseDetailsPage(text: string): DetailsRule[] {
  const start = text.search(/^"ID",/m);
  if (start < 0) return [];
  const [header = [], ...rows] = parseCsv(text.slice(start));
  const launchIds: string[] = [];
  return rows.flatMap((row) => {
    const cell = (column: string): string => row[header.indexOf(column)] ?? '';
    const id = cell('ID');
    if (id === '') return [];
    if (!launchIds.includes(id)) launchIds.push(id);
    const rule = cell('Rule Name');
    if (rule === '') return [];
    const percent = parseNumber(cell('Estimated Speedup'));
    return [
      {
        id: rule,
        title: titleOf(rule, cell('Section Name')),
        message: cell('Rule Description').replaceAll(/\s+/g, ' ').trim(),
        launchIndex: launchIds.indexOf(id),
        kind: cell('Rule Type'),
        speedupScope: cell('Estimated Speedup Type'),
        ...(percent !== undefined && { estimatedSpeedupPercent: percent }),
      },
    ];
  });
}

/** `UncoalescedGlobalAccess` of `SourceCounters` → `uncoalesced global access (SourceCounters)`. */
const titleOf = (rule: string, section: string): string => {
  const words = rule
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/\b([A-Z])([a-z]+)/g, (_, first: string, rest: string) => first.toLowerCase() + rest);
  return section === '' ? words : `${words} (${section})`;
};
