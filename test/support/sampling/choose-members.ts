import { deriveSeed } from '../../../src/core/derive-seed.ts';

/** Which sample a run of the tests takes, the same for all of its processes. */
export interface Turn {
  /** A whole number of at least 0, or all members. */
  readonly seed: number | 'all';
  /** Files that the last commit or the work tree changed, from the repository's root. */
  readonly changed: readonly string[];
}

/** How to sample members that take the same path through the code with other data. */
export interface SampleOptions<T> {
  /** About one of this many members runs. */
  readonly oneIn: number;
  /**
   * Matrices whose members take as long as twenty other tests take turns: of so many consecutive seeds, the matrix has members in one.
   * A smaller test of the same thing is in every run.
   */
  readonly inTurn?: { readonly place: number; readonly of: number };
  /** What must not be missing from any sample: one member of each kind runs at least. */
  readonly kindOf?: (member: T) => string;
  /** A member that guards a known regression runs always. */
  readonly always?: (member: T) => boolean;
  /** The file or folder that a member is about, from the repository's root: where it changed, the member runs. */
  readonly placeOf?: (member: T) => string;
}

/** Whether the last commit or the work tree changed what lies there. */
export const touches = (place: string, { changed }: Turn): boolean => changed.some((file) => liesAt(place, file));

/** Of `step` members in a row, which one runs: the next one with the next seed. Undefined where all run. */
export const startOf = (matrix: string, step: number, { seed }: Turn): number | undefined =>
  seed === 'all' ? undefined : (deriveSeed(0, matrix) + seed) % step;

const liesAt = (place: string, file: string): boolean => file === place || file.startsWith(`${place}/`);

/**
 * Which members of a matrix run. Of each kind every n-th member does, from a place that moves by one with every seed: over n
 * consecutive seeds each member runs once at least, with n the lesser of `oneIn` and the number of members of its kind; over n times
 * as many as there are matrices that take turns.
 */
export function chooseMembers<T>(
  matrix: string,
  members: readonly T[],
  { oneIn, kindOf = () => '', always, placeOf, inTurn = { place: 0, of: 1 } }: SampleOptions<T>,
  turn: Turn,
): boolean[] {
  const kinds = Map.groupBy(members.keys(), (index) => kindOf(members[index]!));
  const chosen = members.map((member) => {
    const place = placeOf?.(member);
    return (always?.(member) ?? false) || (place !== undefined && touches(place, turn));
  });
  const { seed } = turn;
  if (seed !== 'all' && seed % inTurn.of !== inTurn.place) return chosen;
  // The seeds of its turns, counted: each is the next one.
  const own: Turn = { ...turn, seed: seed === 'all' ? seed : Math.floor(seed / inTurn.of) };
  for (const [kind, indices] of kinds) {
    const step = Math.min(oneIn, indices.length);
    const start = startOf(`${matrix}/${kind}`, step, own);
    for (const [rank, index] of indices.entries())
      if (start === undefined || rank % step === start) chosen[index] = true;
  }
  return chosen;
}
