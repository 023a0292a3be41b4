/**
 * What a sample of a workload's CTAs tells of the whole: the predicted time and the counters of both, and the processor time that
 * counting took. Prints a line for each kernel and workload.
 *
 *     node bench/virtual-gpu/sampling.ts [--ctas 64] [--output docs/results/sampling.json] [kernel folder workload …]
 */
import { parseArgs } from 'node:util';
import type { SampledKernel, SamplingRecording } from '../../scripts/results/sampling.ts';
import type { LaunchCounters } from '../../src/core/counters.ts';
import { sum } from '../../src/core/values.ts';
import { measureRungs, openIfWanted, type ReadyRung, rounded } from './measure-rungs.ts';

const { values, positionals } = parseArgs({
  options: { ctas: { type: 'string', default: '64' }, output: { type: 'string' } },
  allowPositionals: true,
});

/** Of hundreds of CTAs, which a simulator still runs whole in seconds. */
const KERNELS: readonly (readonly [folder: string, workload: string])[] = [
  ...['01_minimal', '03_rows', '05_mma', '07_cp_async', '08_key_split', '09_lean', '10_wgmma', '11_sums_first'].map(
    (rung) => [`problems/attention/${rung}`, 'B=4,H=16,S=512,D=64,causal=0'] as const,
  ),
  ...['03_rows', '05_mma', '07_cp_async', '11_sums_first'].map(
    (rung) => [`problems/attention/${rung}`, 'B=2,H=8,S=1024,D=64,causal=1'] as const,
  ),
  ['problems/gemm/02_tiled', 'M=1024,N=1024,K=256'],
  // Beyond the caches of both devices.
  ['problems/layernorm/02_warp_per_row', 'R=32768,N=1024'],
  ['problems/softmax/02_warp_per_row', 'R=32768,N=1024'],
  ['problems/transpose/01_naive', 'M=8192,N=4096'],
  ['problems/gemm/02_tiled', 'M=4096,N=4096,K=64'],
];
if (positionals.length % 2 !== 0) throw new Error('name a workload after each kernel folder');
const asked = Array.from({ length: positionals.length / 2 }, (_, i) => positionals.slice(2 * i, 2 * i + 2));
const chosen = asked.length > 0 ? (asked as [string, string][]) : KERNELS;

/** Sums whose ratio is told; where one is 0, so is the other. */
const COUNTERS = ['instructions', 'globalLoadSectors', 'globalStoreSectors', 'sharedLoadWavefronts'] as const;

interface Counted {
  readonly counters: readonly LaunchCounters[];
  readonly predictedNs: number;
  readonly processorMs: number;
}

async function measure({ rung, device, plan, launch }: ReadyRung): Promise<SampledKernel> {
  const count = async (sampleCtas?: number): Promise<Counted> => {
    const conditions = { name: 'counted', count: true, ...(sampleCtas !== undefined && { sampleCtas }) };
    const { counters, processorMs } = await launch(conditions);
    // As most workloads have it.
    const { medianNs } = device.predict(counters, plan, { vetoNs: 0, attainableNs: 0 });
    return { counters, predictedNs: medianNs, processorMs };
  };
  // Compiles, and is not measured.
  await count(1);
  const sample = await count(Number(values.ctas));
  const whole = await count();
  const totalOf = ({ counters }: Counted, name: (typeof COUNTERS)[number]): number =>
    sum(counters.map((launch) => launch[name]));
  const deviations = COUNTERS.filter((name) => totalOf(whole, name) > 0).map((name) =>
    Math.abs(totalOf(sample, name) / totalOf(whole, name) - 1),
  );
  return {
    ...{ kernel: rung.folder, workload: rung.workload },
    ctas: sum(whole.counters.map(({ ctaCount }) => ctaCount)),
    sampledCtas: sum(sample.counters.map(({ countedCtas }) => countedCtas)),
    predictedRatio: rounded(sample.predictedNs / whole.predictedNs),
    largestCounterDeviation: rounded(Math.max(...deviations)),
    sampleMs: rounded(sample.processorMs),
    wholeMs: rounded(whole.processorMs),
  };
}

const open = await openIfWanted<SamplingRecording>(values.output, { schemaVersion: 1, date: '', kernels: [] });
await measureRungs(chosen, open, measure, ({ kernel, workload }) => `${kernel} ${workload}`);
