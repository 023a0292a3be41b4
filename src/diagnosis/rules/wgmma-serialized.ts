import { figure } from '../../core/values.ts';
import { type Rule, resourceNs } from '../rule.ts';
import { isTensorWork, sequenceNs } from './tensor-work.ts';

/** ptxas, C7510 to C7520: the reason differs, the sentence does not. */
const SERIALIZED = /wgmma\.mma_async instructions are serialized( due to .*)?/;
/** Warnings. */
const THRESHOLD = 0;
/** Without a product on its way nothing overlaps; the estimate is at least this. */
const LEAST_SPEEDUP = 1.1;

/** The assembler waits for each wgmma before the next instruction, so nothing overlaps with products. */
export const wgmmaSerialized: Rule = {
  id: 'wgmma-serialized',
  minimumSpeedup: 1,
  observe(context) {
    const said = (context.diagnostics ?? []).flatMap(({ message }) => SERIALIZED.exec(message)?.[0] ?? []);
    const [first] = said;
    if (first === undefined) return undefined;
    const totalNs = sequenceNs(context);
    const tensorNs = context.launches
      .filter(({ launch }) => isTensorWork(launch))
      .reduce((sum, item) => sum + resourceNs(item, 'tensor'), 0);
    const estimatedSpeedup = Math.max(LEAST_SPEEDUP, totalNs / Math.max(totalNs - tensorNs, totalNs / 2));
    return {
      title: `the assembler serialised wgmma: ${first.replace(SERIALIZED, 'each product is waited for$1')}`,
      evidence: [
        {
          counter: 'warnings of the assembler about wgmma',
          value: said.length,
          threshold: THRESHOLD,
          comparison: 'above',
          where: first,
        },
      ],
      advice:
        'Touch accumulators only after wgmma.wait_group; take fewer registers (narrower tiles, fewer accumulators); make ' +
        'branches around wgmma provably uniform: take the warpgroup’s number from a shuffle.',
      estimatedSpeedup,
      arithmetic: `products hidden behind the rest, at least ${LEAST_SPEEDUP}× = ${figure(estimatedSpeedup)}×`,
    };
  },
};
