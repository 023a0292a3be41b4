import { formatFigure } from '../../src/reports/format.ts';
import type { InspectedLine } from '../../src/server/wire.ts';

type Access = NonNullable<InspectedLine['globalLoad']>;

/** Sectors or wavefronts per request. */
const perRequest = (access: Access | null): string => (access === null ? '' : formatFigure(access.unitsPerRequest));

const percent = (share: number): string => (share < 0.001 ? '<0.1' : (100 * share).toFixed(1));

/** What stands beside a line of source: a title, a figure, what the figure is, and the widest there is. */
export const LINE_FIGURES: readonly {
  readonly title: string;
  readonly what: string;
  readonly of: (line: InspectedLine) => string;
  readonly widest: string;
}[] = [
  {
    title: '% instr.',
    what: 'of all warp instructions',
    of: ({ instructions, instructionShare }) => (instructions === 0 ? '' : percent(instructionShare ?? 0)),
    widest: '99.9',
  },
  {
    title: 'sectors',
    what: 'sectors of 32 bytes per request to device memory',
    of: ({ globalLoad, globalStore }) => perRequest(globalLoad) || perRequest(globalStore),
    widest: '32',
  },
  {
    title: 'wavefr.',
    what: 'wavefronts per request to shared memory',
    of: ({ sharedLoad, sharedStore }) => perRequest(sharedLoad) || perRequest(sharedStore),
    widest: '32',
  },
];

/** 0…4: how much of all instructions a line issues. */
export const heatOf = ({ instructionShare }: InspectedLine): number =>
  instructionShare === null ? 0 : Math.min(4, Math.ceil(instructionShare * 12));
