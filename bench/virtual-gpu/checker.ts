/**
 * What the checker costs: processor time of a kernel's launches with races looked for, beside the same without, in alternating
 * runs of one process. Prints a line for each kernel. A recording is written after each of them: what is there already stays,
 * unless the kernel is measured again, so that a run that was cut off can go on with the folders that are left.
 *
 *     node bench/virtual-gpu/checker.ts [--runs 7] [--output docs/results/checker.json]
 *       [--workload B=1,H=2,S=256,D=64,causal=0] [kernel folder …]   else every kernel of problems/
 */
import { parseArgs } from 'node:util';
import type { CheckerCost, CheckerRecording } from '../../scripts/results/virtual-gpu-speed.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Device } from '../../src/core/device.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { planLaunches } from '../../src/evaluation/launches/plan-launches.ts';
import { NAN_POISON } from '../../src/evaluation/launches/poison.ts';
import { allocateCheckMemory, runOnce } from '../../src/evaluation/launches/run-once.ts';
import { drawInputs } from '../../src/evaluation/oracle/draw-inputs.ts';
import { median } from '../../src/stats/quantile.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { openRecording } from '../recording-file.ts';
import { loadRung, type Rung, rungFolders } from './rungs.ts';

const { values, positionals } = parseArgs({
  options: { runs: { type: 'string', default: '7' }, workload: { type: 'string' }, output: { type: 'string' } },
  allowPositionals: true,
});
const folders = positionals.length > 0 ? positionals : rungFolders();
const runs = Number(values.runs);
const LIMIT_MS = 120_000;

type Kind = 'plain' | 'checked';

const processorMs = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;
const rounded = (value: number): number => Number(value.toPrecision(4));

async function measure(device: Device, { folder, kernel, problem, workload }: Rung): Promise<CheckerCost> {
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
  const taken: Record<Kind, number[]> = { plain: [], checked: [] };
  const conditions = { orderSeed: 0, poison: NAN_POISON, count: false, timeoutMs: LIMIT_MS };
  // The first pair compiles, and is not measured.
  for (let run = 0; run <= runs; run++)
    for (const kind of run % 2 === 0 ? (['plain', 'checked'] as const) : (['checked', 'plain'] as const)) {
      const before = process.cpuUsage();
      const outcome = await runOnce(memory, module, { ...conditions, name: kind, findsRaces: kind === 'checked' });
      if (!outcome.ok) throw new Error(outcome.message);
      if (run > 0) taken[kind].push(processorMs(process.cpuUsage(before)));
    }
  await memory.close();
  const [plainMs, checkedMs] = [median(taken.plain), median(taken.checked)];
  return {
    ...{ kernel: folder, workload },
    ...{ plainMs: rounded(plainMs), checkedMs: rounded(checkedMs), ratio: rounded(checkedMs / plainMs) },
  };
}

const toolchain = await createClangToolchain();
const today = (): string => new Date().toISOString().slice(0, 10);
const open =
  values.output === undefined
    ? undefined
    : await openRecording<CheckerRecording>(values.output, () => ({ schemaVersion: 1, date: '', runs, kernels: [] }));
if (open && open.recording.runs !== runs)
  throw new Error(
    `${values.output} has medians of ${open.recording.runs} runs: measure with --runs ${open.recording.runs}`,
  );

/** In the order of the ladders, which is that of their folders' names. */
async function record({ recording, save }: NonNullable<typeof open>, cost: CheckerCost): Promise<void> {
  const others = recording.kernels.filter(({ kernel }) => kernel !== cost.kernel);
  recording.kernels = [...others, cost].sort((a, b) => (a.kernel < b.kernel ? -1 : 1));
  recording.date = today();
  await save();
}

for (const folder of folders) {
  const rung = await loadRung(folder, values.workload);
  const device = await openDevice(rung.device, { threads: 1 });
  try {
    const taken = await measure(device, rung);
    process.stdout.write(`${JSON.stringify(taken)}\n`);
    if (open) await record(open, taken);
  } catch (error) {
    process.stderr.write(`${folder}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  } finally {
    await device.close();
  }
}
