/**
 * Speed of the virtual GPU on scalar attention (B1 H8 S512 D64, fp32): executing, and executing with counters, in
 * interleaved runs of one process. Prints GFLOP (the attention has 4·H·S²·D FLOP) per second, and per second of processor time, as JSON.
 *
 * npm run bench:virtual-gpu [-- --threads 2 --runs 9 --output docs/results/virtual-gpu-throughput.json]
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { Throughput, ThroughputRecording } from '../../scripts/results/virtual-gpu-speed.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { DeviceBuffer } from '../../src/core/device-values.ts';
import type { LaunchPlan, PlannedBuffer } from '../../src/core/launch-plan.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { median } from '../../src/stats/quantile.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';

const HEADS = 8;
const S = 512;
const D = 64;
const FLOP = 4 * HEADS * S * S * D;
const BUFFERS = ['Q', 'K', 'V', 'O'] as const;

const { values } = parseArgs({
  options: {
    threads: { type: 'string', default: '2' },
    runs: { type: 'string', default: '9' },
    output: { type: 'string' },
  },
});
const threads = Number(values.threads);
const runs = Number(values.runs);

const source = await readFile(new URL('./scalar_attention.cu', import.meta.url), 'utf8');
const candidate = makeCandidate(
  {
    folder: import.meta.dirname,
    file: {
      schemaVersion: 1,
      name: 'scalar_attention',
      description: 'benchmark',
      problem: '',
      source: { kind: 'cuda', files: ['scalar_attention.cu'] },
      steps: [{ function: 'scalar_attention', grid: [1], block: [1], arguments: [] }],
    },
    sources: { 'scalar_attention.cu': source },
  },
  {},
);
const toolchain = await createClangToolchain({});
const compiled = await toolchain.compile({ candidate, architecture: 'sm_89' });
if (!compiled.ok) throw new Error(compiled.message);

const planned = (name: (typeof BUFFERS)[number]): PlannedBuffer => ({
  name,
  role: name === 'O' ? 'out' : 'in',
  dtype: 'f32',
  shape: [HEADS, S, D],
  strides: [S * D, D, 1],
  bytes: HEADS * S * D * 4,
  alignmentBytes: 16,
});
const plan: LaunchPlan = {
  buffers: BUFFERS.map(planned),
  steps: [
    {
      kind: 'launch',
      functionName: 'scalar_attention',
      grid: [S / 64, HEADS, 1],
      block: [64, 1, 1],
      dynamicSharedBytes: 0,
      cooperative: false,
      programmaticDependent: false,
      arguments: [
        ...BUFFERS.map((buffer) => ({ kind: 'buffer' as const, buffer, offsetBytes: 0 })),
        { kind: 'scalar', dtype: 'i32', value: S },
        { kind: 'scalar', dtype: 'f32', value: 1 / Math.sqrt(D) },
      ],
    },
  ],
};

type Taken = Pick<Throughput, 'wallMs' | 'processorMs'>;

/** On a machine that does other things, too, only the rate per second of processor time says something. */
function summary(taken: readonly Taken[]): Throughput {
  const [wallMs, processorMs] = [median(taken.map((one) => one.wallMs)), median(taken.map((one) => one.processorMs))];
  const gigaflopPer = { second: FLOP / wallMs / 1e6, processorSecond: FLOP / processorMs / 1e6 };
  return { wallMs, processorMs, gigaflopPer };
}

const device = await openDevice('virtual:l4', { threads });
try {
  const loaded = await device.load(compiled.code);
  if (!loaded.ok) throw new Error(loaded.message);
  const buffers = new Map<string, DeviceBuffer>();
  for (const buffer of plan.buffers) {
    const allocation = await device.allocate(buffer);
    buffers.set(buffer.name, allocation);
    const contents = Float32Array.from({ length: buffer.bytes / 4 }, () => Math.random() * 2 - 1);
    await device.write(allocation, new Uint8Array(contents.buffer));
  }
  const time = async (count: boolean): Promise<Taken> => {
    const before = process.cpuUsage();
    const outcome = await device.run(loaded.module, plan, buffers, { orderSeed: 0, count, timeoutMs: 600_000 });
    if (!outcome.ok) throw new Error(outcome.message);
    const { user, system } = process.cpuUsage(before);
    return { wallMs: outcome.elapsedMs, processorMs: (user + system) / 1000 };
  };
  // Two rounds each let the host's compiler finish.
  for (let i = 0; i < 2; i++) for (const count of [false, true]) await time(count);
  const functional: Taken[] = [];
  const counted: Taken[] = [];
  for (let i = 0; i < runs; i++) {
    functional.push(await time(false));
    counted.push(await time(true));
  }
  const [plain, counting] = [summary(functional), summary(counted)];
  const result: ThroughputRecording = {
    schemaVersion: 1,
    date: new Date().toISOString().slice(0, 10),
    kernel: 'scalar_attention B1 H8 S512 D64 fp32',
    threads,
    runs,
    functional: plain,
    counted: counting,
    countedToFunctionalRatio: counting.processorMs / plain.processorMs,
  };
  console.log(JSON.stringify(result, null, 2));
  if (values.output !== undefined) await writeFile(values.output, `${JSON.stringify(result, undefined, 1)}\n`);
} finally {
  await device.close();
}
