/**
 * What a large workload asks of the process that judges it: preparing its inputs and what is expected of them, and comparing slots that a measurement kept. No GPU is
 * used: where the reference on a GPU would compute, a stand-in gives numbers at once. So times hold for what the host does, and results mean nothing.
 *
 *     node bench/evaluation/large-checks.ts b4h16s4096d64 [threads] [rounds]
 *
 * Prints, for the main thread and for the whole process, the least seconds of processor time over the rounds (3), with so many threads (2). The main thread's count
 * where one process judges on several GPUs. For a ratio, run it in turns with a checkout of what was before.
 */
import { loadProblemTarget } from '../../src/app/target.ts';
import { chooseWorkload } from '../../src/app/workload.ts';
import type { Device } from '../../src/core/device.ts';
import { encode } from '../../src/core/rounding.ts';
import { elementCountOf } from '../../src/evaluation/launches/layout.ts';
import { createSlotJudge } from '../../src/evaluation/measure/slot-judge.ts';
import { DECLARED } from '../../src/evaluation/oracle/check.ts';
import { createDeviceReference } from '../../src/evaluation/oracle/device-reference.ts';
import { createExpectationCache } from '../../src/evaluation/oracle/expectation-cache.ts';
import { outputsOf } from '../../src/evaluation/oracle/reference-runs.ts';
import { createOracleThreads } from '../../src/evaluation/oracle/threads/oracle-threads.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { createStream } from '../../src/stats/random.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';

const SEED = 5;
/** As many slots as a row with four kernels has in its last measurement. */
const SLOTS = 4;

const { problem } = await loadProblemTarget('problems/attention');
const { name, dimensions } = chooseWorkload(problem.file, process.argv[2]);
const threads = createOracleThreads(Number(process.argv[3] ?? 2))!;
const rounds = Number(process.argv[4] ?? 3);

const likeOutputs = new Float64Array(2 ** 27);
createStream(SEED, 'outputs').fillNormal(likeOutputs, 0, 0.02);

/** A GPU whose memory holds such numbers wherever float64 is read, and whose launches do nothing. */
const standIn = {
  identity: { id: 'stand-in', kind: 'cuda', name: 'stand-in' },
  spec: DEVICE_SPECS.get('h200')!,
  load: async (code) => ({ ok: true, module: { code, functions: [] } }),
  unload: async () => {},
  allocate: async ({ name, bytes }) => ({ name, bytes }),
  free: async () => {},
  write: async () => {},
  fill: async () => {},
  read: async ({ bytes }) => new Uint8Array(likeOutputs.buffer.slice(0, bytes)),
  run: async () => ({ ok: true, counters: [], elapsedMs: 0 }),
} satisfies Partial<Device> as unknown as Device;
const toolchain = { compile: async () => ({ ok: true, code: {} }) } as unknown as Toolchain;
const deviceReference = createDeviceReference({ device: standIn, toolchain, threads });

const least = new Map<string, { main: number; all: number }>();
async function timed<T>(part: string, work: () => Promise<T>): Promise<T> {
  const [main, all] = [process.threadCpuUsage(), process.cpuUsage()];
  const result = await work();
  const seconds = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1e6;
  const now = { main: seconds(process.threadCpuUsage(main)), all: seconds(process.cpuUsage(all)) };
  const before = least.get(part) ?? now;
  least.set(part, { main: Math.min(now.main, before.main), all: Math.min(now.all, before.all) });
  return result;
}

for (let round = 0; round < rounds; round++) {
  const oracle = createExpectationCache({ deviceReference, threads, limitBytes: 0 });
  const key = { problem, dimensions, seed: SEED + round, generatorSet: DECLARED };
  const prepared = await timed('inputs', async () => oracle.check(key));
  await timed('expectations', () => prepared.expectations());
  const outputs = new Map(
    outputsOf(prepared.buffers).map((buffer) => [
      buffer.name,
      encode(likeOutputs.subarray(0, elementCountOf(buffer)), buffer.dtype),
    ]),
  );
  const wrong = await timed(`${SLOTS} slots`, () =>
    Promise.all(
      Array.from({ length: SLOTS }, () => {
        const judge = createSlotJudge({ problem, dimensions, deviceReference, disagree: oracle.disagree });
        return judge.whole({ inputs: prepared.inputs.bytes, outputs });
      }),
    ),
  );
  if (wrong.some((one) => one !== undefined)) throw new Error(`right outputs were refused: ${wrong}`);
}
const parts = [...least].map(([part, { main, all }]) => `${part} ${main.toFixed(2)} of ${all.toFixed(2)}`);
process.stdout.write(`${name}, s of the main thread of all: ${parts.join(' · ')}\n`);
await threads.close();
process.exit(0);
