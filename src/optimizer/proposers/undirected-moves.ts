import type { Kernel } from '../../core/kernel.ts';
import type { Dimensions } from '../../core/problem.ts';
import type { RandomSource } from '../../stats/random.ts';
import { exploreMoves } from '../explore-moves.ts';
import { onRung, type ProposedMove } from '../propose-moves.ts';
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
  const kernel = best.candidate.kernel.file.name;
  const settings = exploreMoves(best, dimensions).filter(({ change }) => change.kind === 'parameter');
  const others = rungs
    .filter(({ file }) => file.name !== kernel)
    .flatMap((rung): ProposedMove[] => {
      const candidate = onRung(best.candidate, rung, dimensions);
      const to = rung.file.name;
      if (!candidate) return [];
      const change = { kind: 'rung', from: kernel, to } as const;
      return [{ ...settingOf(change), key: `undirected/${to}`, candidate }];
    });
  const all = [...settings.map((move) => ({ ...move, ...settingOf(move.change) })), ...others];
  return shuffled(all, random);
}

const settingOf = (change: ProposedMove['change']) => ({
  pattern: PATTERN,
  finding: FINDING,
  change,
  expectedGain: 1,
  confidence: 0,
  reason: 'chosen at random',
});

function shuffled<T>(items: readonly T[], random: RandomSource): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i -= 1) {
    const j = random.next() % (i + 1);
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}
