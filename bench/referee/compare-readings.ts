import type { TwoProcessEntry } from '../../scripts/results/referee-recordings.ts';
import type { MeasuringDevice } from '../../src/core/measuring-device.ts';
import type { Contender } from '../../src/evaluation/measure/contender.ts';
import { measureContenders } from '../../src/evaluation/measure/measure-contenders.ts';
import { compareContenders } from '../../src/stats/compare-contenders.ts';

/** Two readings of one kernel's time differ by no more. */
const LIMIT = 0.01;
/** Enough for an interval narrower than the limit. */
const BLOCKS = 20;

export type Readings = Omit<TwoProcessEntry, 'kernel' | 'workload' | 'parameters'>;

/** There is no comparison, and why. */
export const noReadings = (failure: string): Readings => ({
  withinOnePercent: false,
  measurements: {},
  discardedBlockCount: 0,
  failure,
});

/** Times one kernel through two processes, in turn in the same blocks. The ratio is that of theirs ÷ ours. */
export async function compareReadings(request: {
  ours: Contender;
  theirs: Contender;
  cache: 'hot' | 'cold';
  measuring: Pick<MeasuringDevice, 'l2Bytes' | 'state' | 'use'>;
  seed: number;
}): Promise<Readings> {
  const { ours, theirs, cache, measuring, seed } = request;
  const { measurements, blocks, failed } = await measureContenders({
    contenders: [ours, theirs],
    cache,
    l2Bytes: measuring.l2Bytes,
    tier: 'accept',
    blocks: BLOCKS,
    seed,
    state: () => measuring.state(),
    use: measuring.use,
  });
  const [failure] = failed;
  if (failure) return noReadings(`${failure.contender}: ${failure.status}: ${failure.reason}`);
  const comparison = compareContenders(blocks, { candidate: ours.name, baseline: theirs.name }, seed);
  return {
    comparison,
    withinOnePercent: Math.abs(comparison.ratio - 1) <= LIMIT,
    measurements: Object.fromEntries(
      [...measurements].map(([name, { conditions, summary, eagerNs }]) => [name, { conditions, summary, eagerNs }]),
    ),
    discardedBlockCount: blocks.filter(({ discarded }) => discarded !== undefined).length,
  };
}
