import { makeCandidate } from '../../core/candidate.ts';
import type { Kernel } from '../../core/kernel.ts';
import { listValues } from '../../core/plan/parameter-values.ts';
import { failedConstraint } from '../../core/plan/parameters.ts';
import type { Dimensions } from '../../core/problem.ts';
import { type RandomSource, shuffle } from '../../stats/random.ts';
import { onRung, type ProposedMove } from '../propose-moves.ts';
import type { Best } from '../run.ts';

type Change = Pick<ProposedMove, 'key' | 'change' | 'candidate'>;

/** Every change of one parameter or of the rung, in random order: guided search without findings. */
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

/**
 * Every valid setting of the best candidate's kernel that differs in one parameter, in the order of all settings, with the
 * last parameter varying fastest.
 */
function settings({ candidate: { kernel, parameters } }: Best, dimensions: Dimensions): Change[] {
  const { name } = kernel.file;
  const changeTo = (parameter: string, to: number): Change[] => {
    const values = { ...parameters, [parameter]: to };
    if (failedConstraint(kernel.file, values, dimensions) !== undefined) return [];
    const change = { kind: 'parameter' as const, kernel: name, parameter, from: parameters[parameter]!, to };
    return [{ key: `undirected/${name}.${parameter}=${to}`, change, candidate: makeCandidate(kernel, values) }];
  };
  const before: Change[] = [];
  const after: Change[][] = [];
  for (const [parameter, declaration] of Object.entries(kernel.file.parameters ?? {})) {
    const values = listValues(declaration.values);
    const own = values.indexOf(parameters[parameter]!);
    before.push(...values.slice(0, own).flatMap((value) => changeTo(parameter, value)));
    after.unshift(values.slice(own + 1).flatMap((value) => changeTo(parameter, value)));
  }
  return [...before, ...after.flat()];
}

/** The best candidate's successors on every other rung. */
function otherRungs({ candidate }: Best, rungs: readonly Kernel[], dimensions: Dimensions): Change[] {
  const from = candidate.kernel.file.name;
  return rungs
    .filter(({ file }) => file.name !== from)
    .flatMap((rung): Change[] => {
      const successor = onRung(candidate, rung, dimensions);
      const to = rung.file.name;
      return successor ? [{ key: `undirected/${to}`, change: { kind: 'rung', from, to }, candidate: successor }] : [];
    });
}
