/**
 * Speed of the virtual GPU on attention's kernels: executing, and executing with counters, in alternating runs of one process.
 * Prints a line for each kernel: FLOP that the problem asks for, per second of processor time.
 *
 *     node bench/virtual-gpu/throughput.ts [--runs 5] [--output docs/results/attention-throughput.json] [kernel folder …]
 */
import { parseArgs } from 'node:util';
import type { AttentionThroughput, RungThroughput } from '../../scripts/results/attention-throughput.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Device } from '../../src/core/device.ts';
import { evaluateExpression } from '../../src/core/expressions/evaluate.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { planLaunches } from '../../src/evaluation/launches/plan-launches.ts';
import { NAN_POISON } from '../../src/evaluation/launches/poison.ts';
import { allocateCheckMemory, runOnce } from '../../src/evaluation/launches/run-once.ts';
import { drawInputs } from '../../src/evaluation/oracle/draw-inputs.ts';
import { median } from '../../src/stats/quantile.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { openRecording } from '../recording-file.ts';
import { loadRung, type Rung } from './rungs.ts';

const { values, positionals } = parseArgs({
  options: { runs: { type: 'string', default: '5' }, output: { type: 'string' } },
  allowPositionals: true,
});
const WORKLOAD = 'B=1,H=1,S=1024,D=64,causal=0';
const RUNGS = [
  ...['01_minimal', '03_rows', '04_warp', '05_mma', '06_ldmatrix', '07_cp_async', '08_key_split', '09_lean'],
  ...['10_wgmma', '11_sums_first'],
].map((rung) => `problems/attention/${rung}`);
const LIMIT_MS = 600_000;
const runs = Number(values.runs);

const rounded = (value: number): number => Number(value.toPrecision(4));

async function measure(device: Device, { folder, kernel, problem, workload }: Rung): Promise<RungThroughput> {
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
  const taken: Record<'plain' | 'counted', number[]> = { plain: [], counted: [] };
  const conditions = { orderSeed: 0, poison: NAN_POISON, timeoutMs: LIMIT_MS };
  // The first pair compiles, and is not measured.
  for (let run = 0; run <= runs; run++)
    for (const kind of run % 2 === 0 ? (['plain', 'counted'] as const) : (['counted', 'plain'] as const)) {
      const before = process.cpuUsage();
      const outcome = await runOnce(memory, module, { ...conditions, name: kind, count: kind === 'counted' });
      if (!outcome.ok) throw new Error(outcome.message);
      const { user, system } = process.cpuUsage(before);
      if (run > 0) taken[kind].push((user + system) / 1000);
    }
  await memory.close();
  const [plainMs, countedMs] = [median(taken.plain), median(taken.counted)];
  const flop = evaluateExpression(problem.file.flop, dimensions);
  return {
    kernel: folder,
    device: device.identity.id,
    plainMs: rounded(plainMs),
    countedMs: rounded(countedMs),
    gigaflopPerProcessorSecond: rounded(flop / plainMs / 1e6),
  };
}

const toolchain = await createClangToolchain();
const open =
  values.output === undefined
    ? undefined
    : await openRecording<AttentionThroughput>(values.output, () => ({
        ...{ schemaVersion: 1, date: '', workload: WORKLOAD, runs, kernels: [] },
      }));
for (const folder of positionals.length > 0 ? positionals : RUNGS) {
  const rung = await loadRung(folder, WORKLOAD);
  const device = await openDevice(rung.device, { threads: 1 });
  try {
    const taken = await measure(device, rung);
    process.stdout.write(`${JSON.stringify(taken)}\n`);
    if (!open) continue;
    const others = open.recording.kernels.filter(({ kernel }) => kernel !== taken.kernel);
    open.recording.kernels = [...others, taken].sort((a, b) => (a.kernel < b.kernel ? -1 : 1));
    open.recording.date = new Date().toISOString().slice(0, 10);
    await open.save();
  } catch (error) {
    process.stderr.write(`${folder}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  } finally {
    await device.close();
  }
}
