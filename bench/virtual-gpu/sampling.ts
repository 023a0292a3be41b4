/**
 * What a sample of a workload's CTAs tells of the whole: the predicted time and the counters of both, and the processor time that
 * counting took. Prints a line for each kernel and workload.
 *
 *     node bench/virtual-gpu/sampling.ts [--ctas 64] [--output docs/results/sampling.json] [kernel folder workload …]
 */
import { parseArgs } from 'node:util';
import type { SampledKernel, SamplingRecording } from '../../scripts/results/sampling.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { LaunchCounters } from '../../src/core/counters.ts';
import type { Device } from '../../src/core/device.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import { sum } from '../../src/core/values.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { planLaunches } from '../../src/evaluation/launches/plan-launches.ts';
import { NAN_POISON } from '../../src/evaluation/launches/poison.ts';
import { allocateCheckMemory, runOnce } from '../../src/evaluation/launches/run-once.ts';
import { drawInputs } from '../../src/evaluation/oracle/draw-inputs.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { openRecording } from '../recording-file.ts';
import { loadRung } from './rungs.ts';

const { values, positionals } = parseArgs({
  options: { ctas: { type: 'string', default: '64' }, output: { type: 'string' } },
  allowPositionals: true,
});
const LIMIT_MS = 600_000;

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
const asked = Array.from({ length: positionals.length / 2 }, (_, i) => positionals.slice(2 * i, 2 * i + 2));
const chosen = asked.length > 0 ? (asked as [string, string][]) : KERNELS;

/** Sums whose ratio is told; where one is 0, so is the other. */
const COUNTERS = ['instructions', 'globalLoadSectors', 'globalStoreSectors', 'sharedLoadWavefronts'] as const;

const rounded = (value: number): number => Number(value.toPrecision(4));

interface Counted {
  readonly counters: readonly LaunchCounters[];
  readonly predictedNs: number;
  readonly processorMs: number;
}

async function measure(device: Device, folder: string, workload: string): Promise<SampledKernel> {
  const { kernel, problem } = await loadRung(folder, workload);
  const candidate = makeCandidate(kernel, {});
  const { spec } = device;
  const compiled = await toolchain.compile({ candidate, architecture: spec.architecture });
  if (!compiled.ok) throw new Error(compiled.message);
  const loaded = await device.load(compiled.code);
  if (!loaded.ok) throw new Error(loaded.message);
  const { module } = loaded;
  const { dimensions } = resolveWorkload(problem.file, workload);
  const plan = planLaunches({ problem, candidate, dimensions, spec, module });
  const { bytes } = drawInputs({ problem, buffers: plan.buffers, dimensions, seed: 1, generatorSet: 'declared' });
  const memory = await allocateCheckMemory(device, plan, bytes);
  const count = async (sampleCtas?: number): Promise<Counted> => {
    const before = process.cpuUsage();
    const conditions = { name: 'counted', orderSeed: 0, poison: NAN_POISON, count: true, timeoutMs: LIMIT_MS };
    const outcome = await runOnce(
      memory,
      module,
      sampleCtas === undefined ? conditions : { ...conditions, sampleCtas },
    );
    if (!outcome.ok) throw new Error(outcome.message);
    const { user, system } = process.cpuUsage(before);
    // As most workloads have it.
    const { medianNs } = device.predict(outcome.counters, plan, { vetoNs: 0, attainableNs: 0 });
    return { counters: outcome.counters, predictedNs: medianNs, processorMs: (user + system) / 1000 };
  };
  // Compiles, and is not measured.
  await count(1);
  const sample = await count(Number(values.ctas));
  const whole = await count();
  await memory.close();
  const totalOf = ({ counters }: Counted, name: (typeof COUNTERS)[number]): number =>
    sum(counters.map((launch) => launch[name]));
  const deviations = COUNTERS.filter((name) => totalOf(whole, name) > 0).map((name) =>
    Math.abs(totalOf(sample, name) / totalOf(whole, name) - 1),
  );
  return {
    ...{ kernel: folder, workload },
    ctas: sum(whole.counters.map(({ ctaCount }) => ctaCount)),
    sampledCtas: sum(sample.counters.map(({ countedCtas }) => countedCtas)),
    predictedRatio: rounded(sample.predictedNs / whole.predictedNs),
    largestCounterDeviation: rounded(Math.max(...deviations)),
    sampleMs: rounded(sample.processorMs),
    wholeMs: rounded(whole.processorMs),
  };
}

const toolchain = await createClangToolchain();
const open =
  values.output === undefined
    ? undefined
    : await openRecording<SamplingRecording>(values.output, () => ({ schemaVersion: 1, date: '', kernels: [] }));
for (const [folder, workload] of chosen) {
  const { device: id } = await loadRung(folder, workload);
  const device = await openDevice(id, { threads: 1 });
  try {
    const taken = await measure(device, folder, workload);
    process.stdout.write(`${JSON.stringify(taken)}\n`);
    if (!open) continue;
    const others = open.recording.kernels.filter(
      (one) => one.kernel !== taken.kernel || one.workload !== taken.workload,
    );
    const nameOf = (one: SampledKernel): string => `${one.kernel} ${one.workload}`;
    open.recording.kernels = [...others, taken].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
    open.recording.date = new Date().toISOString().slice(0, 10);
    await open.save();
  } catch (error) {
    process.stderr.write(`${folder}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  } finally {
    await device.close();
  }
}
