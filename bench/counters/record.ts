/**
 * Records what ncu counts on a GPU for settings of every rung and the kernels of test/corpus, whole and by source line. The code
 * is clang's PTX, which a virtual GPU counts as it is: bench/counters/compare.ts. What the recording holds already is left
 * out, so that limited time on a machine can be used in parts. Needs ncu, and the right to read counters.
 * Where there is no clang, bench/time-model/compile.ts compiles on another machine.
 *
 *     node bench/counters/record.ts [--device cuda:0] [--output docs/results/h200-counters.json] [--minutes 9]
 *       [--per-problem 4] [--compiled FILE.json.gz] [--part 1/2]
 */
import { parseArgs } from 'node:util';
import type { Device } from '../../src/core/device.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { profile } from '../../src/evaluation/instruments/profilers/profile.ts';
import { digestOf, openRecording } from '../recording-file.ts';
import { type CodeSource, openCodeSource } from '../time-model/compiled-ahead.ts';
import { allSubjects, keyOf, type Subject } from '../time-model/subjects.ts';
import { type CountedKernel, type CounterRecording, comparedPart } from './counter-recording.ts';

const { values: options } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda:0' },
    output: { type: 'string', default: 'docs/results/h200-counters.json' },
    minutes: { type: 'string', default: '9' },
    'per-problem': { type: 'string', default: '4' },
    compiled: { type: 'string' },
    part: { type: 'string', default: '1/1' },
  },
});
const ordinal = Number(/^cuda:(\d+)$/.exec(options.device)?.[1] ?? Number.NaN);
if (Number.isNaN(ordinal)) throw new Error(`--device is ${options.device}; ncu needs a real GPU, such as cuda:0`);

async function countByNcu(device: Device, source: CodeSource, subject: Subject): Promise<CountedKernel> {
  const { kernel, parameters, workload } = subject;
  const named = { kernel, parameters, workload };
  try {
    const code = await source.compile(subject);
    const ptx = digestOf(code.text);
    const loaded = await device.load(code);
    if (!loaded.ok) return { ...named, ptx, failure: loaded.message };
    const { resources } = loaded.module;
    const plan = subject.plan(device.spec, loaded.module);
    await device.unload(loaded.module);
    const contents = subject.inputs(plan);
    const counted = await profile({ ordinal, code, plan, contents, level: 'full', cacheControl: 'none', resources });
    if (!counted.ok) return { ...named, ptx, failure: `${counted.reason}: ${counted.detail}` };
    return { ...named, ptx, ncu: counted.counters.map(comparedPart), detail: counted.countersSource.detail };
  } catch (error) {
    return { ...named, ptx: '', failure: error instanceof Error ? error.message : String(error) };
  }
}

const endMs = performance.now() + Number(options.minutes) * 60_000;
const device = await openDevice(options.device);
try {
  const source = await openCodeSource(device, options.compiled);
  const { recording, save } = await openRecording<CounterRecording>(options.output, () => ({
    schemaVersion: 1,
    device: device.identity.name,
    driver: device.identity.driver ?? 'none',
    compiler: source.compiler,
    recordedAt: new Date().toISOString(),
    entries: {},
  }));
  // Each of several GPUs takes its share and writes a file of its own.
  const [part, parts] = options.part.split('/').map(Number) as [number, number];
  const subjects = await allSubjects(Number(options['per-problem']));
  const own = subjects.filter((_, index) => index % parts === part - 1);
  const missing = own.filter((subject) => !(keyOf(subject) in recording.entries));
  for (const [index, subject] of missing.entries()) {
    if (performance.now() > endMs) break;
    const entry = await countByNcu(device, source, subject);
    recording.entries[keyOf(subject)] = entry;
    await save();
    process.stdout.write(`${index + 1} of ${missing.length}  ${entry.kernel}  ${entry.failure ?? 'counted'}\n`);
  }
} finally {
  await device.close();
}
