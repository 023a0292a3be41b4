import { formatFigure, formatPercent } from '../../src/reports/format.ts';
import type { InspectedLine } from '../../src/server/wire.ts';

type Access = NonNullable<InspectedLine['globalLoad']>;

/** `4.0×`: sectors or wavefronts per request. */
const perRequest = (access: Access | null): string => (access === null ? '' : formatFigure(access.unitsPerRequest));

/** What stands beside a line of source: a title, a figure, and what the figure is. */
export const LINE_FIGURES: readonly {
  readonly title: string;
  readonly what: string;
  readonly of: (line: InspectedLine) => string;
}[] = [
  {
    title: 'instr.',
    what: 'share of all warp instructions',
    of: ({ instructions, instructionShare }) => (instructions === 0 ? '' : formatPercent(instructionShare ?? 0)),
  },
  {
    title: 'sectors',
    what: 'sectors of 32 bytes per request to device memory',
    of: ({ globalLoad, globalStore }) => perRequest(globalLoad) || perRequest(globalStore),
  },
  {
    title: 'wavefr.',
    what: 'wavefronts per request to shared memory',
    of: ({ sharedLoad, sharedStore }) => perRequest(sharedLoad) || perRequest(sharedStore),
  },
];

/** 0…4: how much of all instructions a line issues. */
export const heatOf = ({ instructionShare }: InspectedLine): number =>
  instructionShare === null ? 0 : Math.min(4, Math.ceil(instructionShare * 12));
