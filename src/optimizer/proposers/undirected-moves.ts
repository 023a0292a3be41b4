import { makeCandidate } from '../../core/candidate.ts';
import type { Kernel } from '../../core/kernel.ts';
import { validAssignments } from '../../core/plan/parameters.ts';
import type { Dimensions } from '../../core/problem.ts';
import { type RandomSource, shuffle } from '../../stats/random.ts';
import { onRung, type ProposedMove } from '../propose-moves.ts';
import type { Best } from '../run.ts';

type Change = Pick<ProposedMove, 'key' | 'change' | 'candidate'>;

/** Every change of one parameter and of the rung, in a random order: what guided search is without findings. */
export function undirectedMoves(
  best: Best,
  rungs: readonly Kernel[],
  dimensions: Dimensions,
  random: RandomSource,
): ProposedMove[] {
  const all = [...settings(best, dimensions), ...otherRungs(best, rungs, dimensions)].map((change) => ({
    ...change,
    pattern: { id: 'undirected', title: 'Any change, whatever the findings say' },
    finding: { id: 'none', estimatedSpeedup: 1, evidence: 'findings were not asked' },
    expectedGain: 1,
    confidence: 0,
    reason: 'chosen at random',
  }));
  return shuffle(all, (bound) => random.next() % bound);
}

/** Every setting of the best candidate's kernel that differs in one parameter. */
const settings = ({ candidate: { kernel, parameters } }: Best, dimensions: Dimensions): Change[] =>
  validAssignments(kernel.file, dimensions).flatMap((values): Change[] => {
    const [changed, ...others] = Object.keys(values).filter((name) => values[name] !== parameters[name]);
    if (changed === undefined || others.length > 0) return [];
    const { name } = kernel.file;
    const [from, to] = [parameters[changed]!, values[changed]!];
    return [
      {
        key: `undirected/${name}.${changed}=${to}`,
        change: { kind: 'parameter', kernel: name, parameter: changed, from, to },
        candidate: makeCandidate(kernel, values),
      },
    ];
  });

/** The best candidate's successors on every other rung. */
const otherRungs = ({ candidate }: Best, rungs: readonly Kernel[], dimensions: Dimensions): Change[] => {
  const from = candidate.kernel.file.name;
  return rungs
    .filter(({ file }) => file.name !== from)
    .flatMap((rung): Change[] => {
      const successor = onRung(candidate, rung, dimensions);
      const to = rung.file.name;
      return successor ? [{ key: `undirected/${to}`, change: { kind: 'rung', from, to }, candidate: successor }] : [];
    });
};
