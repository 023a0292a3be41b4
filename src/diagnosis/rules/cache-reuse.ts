import type { LaunchCounters } from '../../core/counters.ts';
import { SECTOR_BYTES } from '../../core/gpu-sizes.ts';
import { figure } from '../../core/values.ts';
import { percent } from '../format.ts';
import type { ModelledLaunch } from '../rule.ts';
import { where } from '../where.ts';
import { figureRule } from './figure-rule.ts';

/** Bytes read from DRAM ÷ distinct bytes read. */
const THRESHOLD = 1.5;

const compulsoryBytes = (launch: LaunchCounters): number => launch.distinctSectorsRead * SECTOR_BYTES;

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
export const cacheReuse = figureRule({
  id: 'cache-reuse',
  minimumSpeedup: 1.05,
  counter: 'DRAM bytes read ÷ distinct bytes read',
  threshold: THRESHOLD,
  comparison: 'above',
  valueOf: ({ launch, model }) =>
    launch.distinctSectorsRead > 0 ? model.traffic.dramReadBytes / compulsoryBytes(launch) : undefined,
  title: ({ value }) =>
    `every byte read comes ${figure(value)} times from DRAM: data leaves L2 before it is read again`,
  where: ({ launch, model }, { spec }) =>
    `${where(launch, (line) => line.globalLoadSectors)}: ${figure(model.traffic.dramReadBytes)} B from` +
    ` DRAM (${provenance(launch)}), ${figure(compulsoryBytes(launch))} B distinct, L2 has` +
    ` ${figure(spec.l2Bytes.value / 2 ** 20)} MiB`,
  advice:
    'Let concurrent CTAs read the same data: order them in blocks instead of rows (swizzle), use ' +
    'larger tiles, or do all passes over a part that fits L2 before the next part.',
  remedy: 'every distinct byte read from DRAM once',
  change: (item) => ({ launch: readOnce(item) }),
});
