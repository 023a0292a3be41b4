import { type Configuration, configurationAt, listSpace } from '../../../src/search/list-space.ts';
import type { Outcome, SearchSpace, Strategy } from '../../../src/search/strategy.ts';

/** Values by name, as the functions below compute with them. */
// biome-ignore lint/suspicious/noExplicitAny: each space knows the types of its own parameters.
type Setting = Readonly<Record<string, any>>;

type Values = readonly (number | string | boolean)[];

/** Every combination of these values that is allowed. */
export function product(
  dimensions: Readonly<Record<string, Values>>,
  isAllowed: (setting: Setting) => boolean = () => true,
): Configuration[] {
  let found: Configuration[] = [{}];
  for (const [name, values] of Object.entries(dimensions)) {
    found = found.flatMap((configuration) => values.map((value) => ({ ...configuration, [name]: value })));
  }
  return found.filter(isAllowed);
}

export interface KnownSpace {
  readonly space: SearchSpace;
  outcomeOf(index: number): Outcome;
  readonly bestNs: number;
}

/** A space in which `timeOf` knows every time; undefined fails. */
export function knownSpace(
  configurations: readonly Configuration[],
  timeOf: (setting: Setting) => number | undefined,
): KnownSpace {
  const space = listSpace(configurations);
  const outcomes = Array.from({ length: space.size }, (_, index): Outcome => {
    const timeNs = timeOf(configurationAt(space, index));
    return timeNs === undefined ? { kind: 'failed' } : { kind: 'timed', timeNs };
  });
  const times = outcomes.flatMap((outcome) => (outcome.kind === 'timed' ? [outcome.timeNs] : []));
  return { space, outcomeOf: (index) => outcomes[index]!, bestNs: Math.min(...times) };
}

/**
 * Like tiles of a matrix product: block sizes that interact with work per thread, a choice of memory, a cliff where
 * registers run out, shapes that fail, 1,620 configurations of which few are within 5 % of the best.
 */
export const tiles = (): KnownSpace =>
  knownSpace(
    product(
      {
        block: [16, 32, 48, 64, 96, 128, 160, 192, 256],
        rows: [1, 2, 4, 8, 16],
        perThread: [1, 2, 3, 4],
        memory: ['global', 'shared', 'texture'],
        unroll: [1, 2, 4],
      },
      ({ block, rows }) => block * rows <= 2048,
    ),
    ({ block, rows, perThread, memory, unroll }: Setting) => {
      const threads = block * rows;
      if (threads > 1024) return undefined;
      const registers = 20 + 14 * perThread + 3 * unroll;
      const occupancy = Math.min(1, Math.floor(65536 / (registers * threads)) * (threads / 1536));
      const alignment = block % 32 === 0 ? 1 : 1.3;
      const reuse = { global: 2, shared: 1 + 4 / rows / perThread, texture: 1.4 }[memory as 'global'];
      return (1000 * alignment * reuse * (1 + 0.4 / perThread + 0.1 / unroll)) / Math.min(1, 0.3 + occupancy);
    },
  );

/** A valley: each parameter has a best value, one of them moved by another. 3,456 configurations. */
export const valley = (): KnownSpace =>
  knownSpace(
    product({
      a: [1, 2, 4, 8, 16, 32],
      b: [1, 2, 4, 8, 16, 32],
      c: ['row', 'column', 'tiled'],
      d: [0, 1, 2, 3],
      e: [1, 2, 4, 8],
      f: [true, false],
    }),
    ({ a, b, c, d, e, f }: Setting) =>
      100 +
      12 * Math.abs(Math.log2(a) - 3) +
      9 * Math.abs(Math.log2(b) - Math.log2(a) / 2) +
      { row: 25, column: 40, tiled: 0 }[c as 'row'] +
      5 * Math.abs(d - 1) +
      7 * Math.abs(Math.log2(e) - 2) +
      (f ? 0 : 15),
  );

/** Asks and tells until the space or the count ends; returns what was asked for. */
export function drive(
  strategy: Strategy,
  outcomeOf: (index: number) => Outcome,
  count = Number.POSITIVE_INFINITY,
): number[] {
  const asked: number[] = [];
  while (asked.length < count) {
    const index = strategy.ask();
    if (index === undefined) break;
    asked.push(index);
    strategy.tell(index, outcomeOf(index));
  }
  return asked;
}

/** Evaluations until one is within this share of the best. */
export function evaluationsUntil(strategy: Strategy, { outcomeOf, bestNs, space }: KnownSpace, within: number): number {
  let count = 0;
  for (let index = strategy.ask(); index !== undefined; index = strategy.ask()) {
    count += 1;
    const outcome = outcomeOf(index);
    if (outcome.kind === 'timed' && outcome.timeNs <= bestNs * (1 + within)) return count;
    strategy.tell(index, outcome);
  }
  return space.size + 1;
}
