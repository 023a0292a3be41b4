import { numbersBelow } from './values.ts';

/**
 * The name that a user most likely meant, for "Did you mean …?" hints.
 *
 * @returns the nearest of `names` by edit distance, ignoring case, or `undefined` if none is near.
 */
export function nearestName(name: string, names: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of names) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** `Did you mean \`x\`?`, or the list of names if none is near. */
export function suggestName(name: string, names: Iterable<string>, what = 'Names'): string {
  const known = [...names];
  const nearest = nearestName(name, known);
  if (nearest !== undefined) return `Did you mean \`${nearest}\`?`;
  return known.length === 0 ? `There are no ${what.toLowerCase()} here.` : `${what}: ${known.join(', ')}.`;
}

/** Damerau–Levenshtein distance with adjacent transpositions (optimal string alignment). */
function editDistance(left: string, right: string): number {
  let beforePrevious: number[] = [];
  let previous = numbersBelow(right.length + 1);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let distance = Math.min(previous[column]! + 1, current[column - 1]! + 1, previous[column - 1]! + (same ? 0 : 1));
      const transposed =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (transposed) distance = Math.min(distance, beforePrevious[column - 2]! + 1);
      current.push(distance);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[right.length]!;
}
