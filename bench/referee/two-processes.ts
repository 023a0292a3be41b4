/**
 * Times the same compiled kernels through this program's worker and through the Python worker, in the same blocks: both
 * must read the same, or times of libraries could not be compared with times of candidates.
 *
 *     node bench/referee/two-processes.ts [--output docs/results/h200-two-processes.json] [--device cuda:0]
 */
import type { TwoProcessRecording } from '../../scripts/results/referee-recordings.ts';
import type { ParameterValues } from '../../src/core/kernel.ts';
import { BaselineWorker } from '../../src/evaluation/instruments/baselines/baseline-worker.ts';
import { createExpectationCache } from '../../src/evaluation/oracle/expectation-cache.ts';
import { type Bench, contenderOf, measuredWith, openBench, openKernel } from '../measuring/open-bench.ts';
import { openRecording } from '../recording-file.ts';
import { compareReadings, noReadings, type Readings } from './compare-readings.ts';
import { refereeOptions } from './referee-options.ts';

const SEED = 1;

interface Case {
  readonly kernel: string;
  readonly workload: string;
  readonly parameters: ParameterValues;
}

const WARP = { BLOCK_M: 32, BLOCK_N: 128, WARPS: 4, VECTOR_WIDTH: 8, PAD: 8 };
const ROWS = { BLOCK_M: 32, BLOCK_N: 128, WARPS: 8, PAD: 2 };
/** Of about 10, 50, 500 and 60 µs on an H200. */
const CASES: readonly Case[] = [
  { kernel: 'problems/attention/04_warp', workload: 'b1h1s128d64', parameters: WARP },
  { kernel: 'problems/attention/03_rows', workload: 'b1h8s512d64', parameters: ROWS },
  { kernel: 'problems/attention/04_warp', workload: 'b32h8s512d64', parameters: WARP },
  // 268 MB in a slot, and nothing to compute that would hide what L2 holds at first.
  {
    kernel: 'problems/softmax/04_vectorised',
    workload: 'r8192n4096',
    parameters: { WARPS: 8, ROWS_PER_CTA: 1, VECTOR_WIDTH: 4, UNROLL: 4 },
  },
];

async function compare(bench: Bench, subject: Case): Promise<Readings> {
  const opened = await openKernel(bench, subject);
  const { problem, workload, module, plan } = opened;
  const { identity, measuring } = bench.device;
  if (!measuring) throw new Error(`${identity.id} predicts times; it can't measure them`);
  const worker = await BaselineWorker.start({
    problem,
    oracle: createExpectationCache({ deviceReference: bench.deviceReference }),
    gpu: { uuid: identity.uuid, use: measuring.use },
  });
  try {
    const prepared = await worker.kernelContender({ name: 'python', code: module.code, plan }, workload, SEED);
    if (!prepared.ok) return noReadings(`python: ${prepared.status}: ${prepared.reason}`);
    const ours = contenderOf(bench, 'warpsmith', opened);
    const { contender: theirs } = prepared;
    return await compareReadings({ ours, theirs, cache: workload.cache, measuring, seed: SEED });
  } finally {
    await worker.close();
    await bench.device.unload(module);
  }
}

const describe = ({ comparison, measurements, failure }: Readings): string => {
  if (!comparison) return failure ?? 'no comparison';
  const times = Object.entries(measurements).map(([name, { summary }]) => `${name} ${summary.medianNs.toFixed(0)} ns`);
  return `${times.join(', ')}: ${comparison.ratio.toFixed(4)} [${comparison.intervalRatio.join(', ')}]`;
};

const { device, output } = refereeOptions({ output: 'docs/results/h200-two-processes.json' });
await using bench = await openBench(device);
const { recording, save } = await openRecording<TwoProcessRecording>(output, () => ({
  schemaVersion: 1,
  ...measuredWith(bench),
  kernels: [],
}));
const isRecorded = ({ kernel, workload }: Case): boolean =>
  recording.kernels.some((entry) => entry.kernel === kernel && entry.workload === workload);

for (const subject of CASES.filter((one) => !isRecorded(one))) {
  const readings = await compare(bench, subject);
  recording.kernels.push({ ...subject, ...readings });
  await save();
  process.stderr.write(`${subject.kernel} at ${subject.workload}: ${describe(readings)}\n`);
}
const within = recording.kernels.filter(({ withinOnePercent }) => withinOnePercent).length;
const ratios = recording.kernels.map(({ comparison, failure }) => comparison?.ratio.toFixed(4) ?? failure);
process.stdout.write(`${within} of ${recording.kernels.length} within 1 %: ${ratios.join(', ')}\n`);
