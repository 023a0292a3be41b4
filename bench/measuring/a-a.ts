/**
 * Compares a kernel with itself again and again by the protocol's `accept` tier: whatever is called faster or slower is
 * a false verdict.
 *
 *     node bench/measuring/a-a.ts [--output docs/results/h200-a-a.json] [--count 200] [--minutes 9] [--device cuda:0]
 */
import { compareRepeatedly, repeatOptions } from './compare-repeatedly.ts';
import { openBench, openPair } from './open-bench.ts';

const KERNEL = 'problems/attention/04_warp';
const WORKLOAD = 'b1h8s512d64';

const options = repeatOptions({ output: 'docs/results/h200-a-a.json', count: 200 });
await using bench = await openBench(options.device);
const pair = await openPair(bench, { kernel: KERNEL, workload: WORKLOAD, candidate: {}, baseline: {} });
await compareRepeatedly(bench, pair, options, async () => ({}));
