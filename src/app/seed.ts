import { randomInt } from 'node:crypto';
import type { Recording } from '../store/recording.ts';

const SEEDS = 2 ** 32;

/**
 * A seed that no author of a kernel can know: drawn when everything that an author wrote has been read.
 *
 * @param after the seed before it, if any; what a replay goes by.
 */
export type DrawSeed = (after?: number) => number;

export const drawSeed: DrawSeed = () => randomInt(SEEDS);

/** The seeds of a recording in the order they were used: a replay asks for what was recorded. The last one stands for ever. */
export function recordedSeeds({ evaluations }: Recording): DrawSeed {
  const seeds = [...new Set(evaluations.map(({ request }) => request.seed))];
  return (after) => {
    const next = after === undefined ? seeds[0] : seeds[seeds.indexOf(after) + 1];
    return next ?? seeds.at(-1) ?? 0;
  };
}
