import type { LaunchCounters } from '../../core/counters.ts';
import { figure } from '../../core/values.ts';
import { SECTOR_BYTES } from '../../hardware/launch-model/constants.ts';
import { percent } from '../format.ts';
import type { ModelledLaunch, Rule } from '../rule.ts';
import { estimate } from '../what-if.ts';
import { where } from '../where.ts';

/** Bytes read from DRAM ÷ distinct bytes read. */
const THRESHOLD = 1.5;

const compulsoryBytes = (launch: LaunchCounters): number => launch.distinctSectorsRead * SECTOR_BYTES;
const rereads = ({ launch, model }: ModelledLaunch): number =>
  launch.distinctSectorsRead > 0 ? model.traffic.dramReadBytes / compulsoryBytes(launch) : 0;

/** The launch with every sector read from DRAM once. */
const readOnce = ({ launch, model }: ModelledLaunch): LaunchCounters => ({
  ...launch,
  sampledCache: {
    ...(launch.sampledCache ?? { start: 'cold', sampledRatio: 0, sampledLines: 0 }),
    dramReadBytes: compulsoryBytes(launch),
    dramWriteBytes: model.traffic.dramWriteBytes,
  },
});

/** How the DRAM bytes are known: from simulated sets of the cache, or from capacities alone. */
const provenance = ({ sampledCache }: LaunchCounters): string =>
  sampledCache ? `sampled: ${percent(sampledCache.sampledRatio)} of the L2 sets` : 'estimated from capacities';

/** Data comes from DRAM again and again because it leaves L2 before it is used again. */
export const cacheReuse: Rule = {
  id: 'cache-reuse',
  minimumSpeedup: 1.05,
  observe(context) {
    const leaving = context.launches.filter((item) => rereads(item) > THRESHOLD);
    const worst = leaving[0];
    if (!worst) return undefined;
    const l2Megabytes = context.spec.l2Bytes.value / 2 ** 20;
    return {
      title: `every byte read comes ${figure(rereads(worst))} times from DRAM: data leaves L2 before it is read again`,
      evidence: leaving.map((item) => ({
        counter: 'DRAM bytes read ÷ distinct bytes read',
        value: rereads(item),
        threshold: THRESHOLD,
        comparison: 'above' as const,
        where:
          `${where(item.launch, (line) => line.globalLoadSectors)}: ${figure(item.model.traffic.dramReadBytes)} B from` +
          ` DRAM (${provenance(item.launch)}), ${figure(compulsoryBytes(item.launch))} B distinct, L2 has` +
          ` ${figure(l2Megabytes)} MiB`,
      })),
      advice:
        'Let concurrent CTAs read the same data: order them in blocks instead of rows (swizzle), use ' +
        'larger tiles, or do all passes over a part that fits L2 before the next part.',
      ...estimate(context, 'every distinct byte read from DRAM once', (item) =>
        leaving.includes(item) ? { launch: readOnce(item) } : undefined,
      ),
    };
  },
};
