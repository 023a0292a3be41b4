import { figure } from '../../core/values.ts';
import { percent } from '../format.ts';
import type { Rule } from '../rule.ts';
import { estimate } from '../what-if.ts';
import { where } from '../where.ts';

/** Share of shared-memory wavefronts beyond the least that the access widths need. */
const THRESHOLD = 0.1;

/** Lanes of one shared-memory request want different words of the same bank, which serves one per clock. */
export const bankConflicts: Rule = {
  id: 'bank-conflicts',
  minimumSpeedup: 1.01,
  observe(context) {
    const conflicted = context.launches.flatMap(({ launch }) => {
      const wavefronts = launch.sharedLoadWavefronts + launch.sharedStoreWavefronts;
      const conflicts = launch.sharedLoadBankConflicts + launch.sharedStoreBankConflicts;
      const value = wavefronts > 0 ? conflicts / wavefronts : 0;
      return value > THRESHOLD ? [{ launch, value, wavefronts, conflicts }] : [];
    });
    const worst = conflicted[0];
    if (!worst) return undefined;
    return {
      title:
        `bank conflicts: ${percent(worst.value)} of shared-memory wavefronts,` +
        ` ${figure(worst.wavefronts / (worst.wavefronts - worst.conflicts))}× the minimum`,
      evidence: conflicted.map(({ launch, value, wavefronts, conflicts }) => ({
        counter: 'bank conflicts ÷ shared wavefronts',
        value,
        threshold: THRESHOLD,
        comparison: 'above' as const,
        where:
          `${where(launch, (line) => line.bankConflicts)}: ` +
          `${figure(conflicts)} of ${figure(wavefronts)} wavefronts are conflicts`,
      })),
      advice: 'Pad the rows of the shared array (PAD) or swizzle it, so that the lanes of a request hit all 32 banks.',
      ...estimate(context, 'the minimum of wavefronts for these widths', ({ launch }) => ({
        launch: {
          ...launch,
          sharedLoadWavefronts: launch.sharedLoadWavefronts - launch.sharedLoadBankConflicts,
          sharedStoreWavefronts: launch.sharedStoreWavefronts - launch.sharedStoreBankConflicts,
          sharedLoadBankConflicts: 0,
          sharedStoreBankConflicts: 0,
        },
      })),
    };
  },
};
