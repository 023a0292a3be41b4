import { randomInt } from 'node:crypto';
import type { Recording } from '../store/recording.ts';

const SEEDS = 2 ** 32;

/**
 * A seed that no author of a kernel can know: drawn after all of the author's files were read.
 *
 * @param after the previous seed, if any; replays follow it.
 */
export type DrawSeed = (after?: number) => number;

export const drawSeed: DrawSeed = () => randomInt(SEEDS);

/** The seeds of a recording in the order of their use, for a replay. The last one repeats for ever. */
export function recordedSeeds({ evaluations }: Recording): DrawSeed {
  const seeds = [...new Set(evaluations.map(({ request }) => request.seed))];
  return (after) => {
    const next = after === undefined ? seeds[0] : seeds[seeds.indexOf(after) + 1];
    return next ?? seeds.at(-1) ?? 0;
  };
}
