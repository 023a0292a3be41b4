/** Relations have 35, 25, 20 and 20 of 100 lots. */
const RELATIONS = [
  { below: 0.35, of: (whole: number) => whole },
  { below: 0.6, of: divisorOf },
  { below: 0.8, of: (whole: number, lot: number) => Math.max(1, Math.floor(lot * whole)) },
  { below: 1, of: (whole: number, lot: number, further: number) => whole + 1 + Math.floor(lot * (whole + further)) },
] as const;

/**
 * How a dimension relates to what it follows from unless something else is asked for, as keys follow from queries: as many, a divisor (what groups of
 * heads are), fewer, or more. Lots lie between 0 and 1.
 *
 * @param further a larger one is at most so many more than twice the whole.
 */
export function relatedSize(whole: number, lots: readonly [relation: number, size: number], further: number): number {
  const relation = RELATIONS.find(({ below }) => lots[0] < below) ?? RELATIONS[0];
  return relation.of(whole, lots[1], further);
}

/** A divisor below the number itself. */
function divisorOf(whole: number, lot: number): number {
  const divisors = Array.from({ length: whole - 1 }, (_, i) => i + 1).filter((one) => whole % one === 0);
  return divisors[Math.floor(lot * divisors.length)] ?? 1;
}
