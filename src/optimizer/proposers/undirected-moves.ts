import type { Kernel } from '../../core/kernel.ts';
import type { Dimensions } from '../../core/problem.ts';
import type { RandomSource } from '../../stats/random.ts';
import { nearSettings, otherRungs } from '../explore-moves.ts';
import type { ProposedMove } from '../propose-moves.ts';
import type { Best } from '../run.ts';

const PATTERN = { id: 'undirected', title: 'Any change, whatever the findings say' };
const FINDING = { id: 'none', estimatedSpeedup: 1, evidence: 'findings were not asked' };

/** Every change of one parameter and of the rung, in a random order: what guided search is without findings. */
export function undirectedMoves(
  best: Best,
  rungs: readonly Kernel[],
  dimensions: Dimensions,
  random: RandomSource,
): ProposedMove[] {
  const settings = nearSettings(best, dimensions).filter(({ change }) => change.kind === 'parameter');
  const all = [...settings, ...otherRungs(best, rungs, dimensions)].map(({ key, change, candidate }) => ({
    key: key.replace(/^explore/, PATTERN.id),
    pattern: PATTERN,
    finding: FINDING,
    change,
    candidate,
    expectedGain: 1,
    confidence: 0,
    reason: 'chosen at random',
  }));
  return shuffled(all, random);
}

function shuffled<T>(items: readonly T[], random: RandomSource): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i -= 1) {
    const j = random.next() % (i + 1);
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}
