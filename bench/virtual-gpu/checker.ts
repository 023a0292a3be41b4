/**
 * What the checker costs: processor time of a kernel's launches with races looked for, beside the same without, in alternating
 * runs of one process. Prints one line of JSON for each kernel.
 *
 *     node bench/virtual-gpu/checker.ts [--runs 7] [--workload B=1,H=2,S=256,D=64,causal=0] [kernel folder …]
 */
import { parseArgs } from 'node:util';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Device } from '../../src/core/device.ts';
import type { PlannedBuffer } from '../../src/core/launch-plan.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { planLaunches } from '../../src/evaluation/launches/plan-launches.ts';
import { NAN_POISON } from '../../src/evaluation/launches/poison.ts';
import { allocateCheckMemory, runOnce } from '../../src/evaluation/launches/run-once.ts';
import { median } from '../../src/stats/quantile.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';

const { values, positionals } = parseArgs({
  options: {
    runs: { type: 'string', default: '7' },
    workload: { type: 'string', default: 'B=1,H=2,S=256,D=64,causal=0' },
  },
  allowPositionals: true,
});
const folders = positionals.length > 0 ? positionals : ['problems/attention/04_warp'];
const LIMIT_MS = 120_000;

/** Halves between 0.5 and 1: what they are does not matter, but NaNs would be slower. */
const contentsOf = ({ bytes }: PlannedBuffer): Uint8Array =>
  new Uint8Array(Uint16Array.from({ length: bytes / 2 }, (_, i) => 0x3800 + ((i * 7919) % 1024)).buffer);

const processorMs = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;

async function measure(device: Device, folder: string): Promise<object> {
  const { kernel, problem } = await loadKernel(folder);
  const candidate = makeCandidate(kernel, {});
  const compiled = await (await createClangToolchain()).compile({ candidate, architecture: 'sm_89' });
  if (!compiled.ok) throw new Error(compiled.message);
  const loaded = await device.load(compiled.code);
  if (!loaded.ok) throw new Error(loaded.message);
  const { dimensions } = resolveWorkload(problem.file, values.workload);
  const plan = planLaunches({ problem, candidate, dimensions, spec: device.spec, module: loaded.module });
  const inputs = plan.buffers.filter(({ role }) => role === 'in' || role === 'inout');
  const contents = new Map(inputs.map((buffer) => [buffer.name, contentsOf(buffer)]));
  const memory = await allocateCheckMemory(device, plan, contents);
  const taken: Record<'plain' | 'checked', number[]> = { plain: [], checked: [] };
  const conditions = { orderSeed: 0, poison: NAN_POISON, count: false, timeoutMs: LIMIT_MS };
  // The first pair compiles, and is not measured.
  for (let run = 0; run <= Number(values.runs); run++)
    for (const kind of run % 2 === 0 ? (['plain', 'checked'] as const) : (['checked', 'plain'] as const)) {
      const before = process.cpuUsage();
      const outcome = await runOnce(memory, loaded.module, {
        ...conditions,
        name: kind,
        findsRaces: kind === 'checked',
      });
      if (!outcome.ok) throw new Error(outcome.message);
      if (run > 0) taken[kind].push(processorMs(process.cpuUsage(before)));
    }
  await memory.close();
  const [plainMs, checkedMs] = [median(taken.plain), median(taken.checked)];
  return { kernel: folder, workload: values.workload, plainMs, checkedMs, ratio: checkedMs / plainMs, taken };
}

const device = await openDevice('virtual:l4', { threads: 1 });
try {
  for (const folder of folders) console.log(JSON.stringify(await measure(device, folder)));
} finally {
  await device.close();
}
