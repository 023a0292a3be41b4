/** Relations have 25, 15, 30, 15 and 15 of 100 lots. */
const RELATIONS = [
  { below: 0.25, of: (whole: number) => whole },
  { below: 0.4, of: divisorOf },
  { below: 0.7, of: tilesApart },
  { below: 0.85, of: (whole: number, lot: number) => Math.max(1, Math.floor(lot * whole)) },
  { below: 1, of: (whole: number, lot: number, further: number) => whole + 1 + Math.floor(lot * (whole + further)) },
] as const;

/**
 * How a dimension relates to what it follows from unless something else is asked for, as keys follow from queries: as many, a divisor (what groups of
 * heads are), as many but for whole tiles and one more or less, fewer, or more. Lots lie between 0 and 1.
 *
 * @param further a larger one is at most so many more than twice the whole.
 */
export function relatedSize(whole: number, lots: readonly [relation: number, size: number], further: number): number {
  const relation = RELATIONS.find(({ below }) => lots[0] < below) ?? RELATIONS[0];
  return relation.of(whole, lots[1], further);
}

/** How often parts that follow from others, as heads of K and V from heads, are fewer. */
const FEWER_PARTS_RATIO = 0.6;

/** The same of independent parts: as many, or a divisor. */
export const relatedParts = (whole: number, lots: readonly [relation: number, size: number]): number =>
  lots[0] < FEWER_PARTS_RATIO ? divisorOf(whole, lots[1]) : whole;

/** How far apart sizes are where the last tile of one of them ends with the other, or one before or behind it. */
const APART = { tiles: [16, 32, 64, 128], counts: [-2, -1, 0, 1, 2], rest: [-1, 0, 1] } as const;
const DISTANCES = APART.tiles.flatMap((tile) =>
  APART.counts.flatMap((count) => APART.rest.map((rest) => count * tile + rest)),
);

function tilesApart(whole: number, lot: number): number {
  return Math.max(1, whole + DISTANCES[Math.floor(lot * DISTANCES.length)]!);
}

/** A divisor below the number itself. */
function divisorOf(whole: number, lot: number): number {
  const [small, large]: [number[], number[]] = [[], []];
  for (let one = 1; one * one <= whole; one++) {
    if (whole % one !== 0) continue;
    small.push(one);
    if (one > 1 && one * one < whole) large.unshift(whole / one);
  }
  return [...small, ...large][Math.floor(lot * (small.length + large.length))] ?? 1;
}
