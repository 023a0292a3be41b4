import type { Device } from '../../src/core/device.ts';
import { digestOf, type OpenRecording } from '../recording-file.ts';
import type { CodeSource } from './compiled-ahead.ts';
import type { RecordedTime, TimeRecording } from './recorded-times.ts';
import { keyOf, type Subject } from './subjects.ts';
import { timeSequence } from './time-subject.ts';

export interface RecordRequest {
  readonly device: Device;
  /** Gives PTX, so that a virtual GPU can count the same code. */
  readonly code: CodeSource;
  readonly subjects: readonly Subject[];
  readonly open: OpenRecording<TimeRecording>;
  /** Whether to begin another one. */
  hasTime(): boolean;
  onRecorded?(entry: RecordedTime, done: number, count: number): void;
}

/** Compiled ahead while the GPU measures. */
const AHEAD = 8;
const BETWEEN_SAVES = 10;

/** Records every subject that the recording does not hold yet. A subject that fails is recorded with its reason. */
export async function recordTimes({ device, code, subjects, open, hasTime, onRecorded }: RecordRequest) {
  const { recording, save } = open;
  const missing = subjects.filter((subject) => !(keyOf(subject) in recording.entries));
  const compiling = new Map<Subject, ReturnType<Subject['compile']>>();
  const compile = (subject: Subject): ReturnType<Subject['compile']> => {
    const begun = compiling.get(subject) ?? code.compile(subject);
    begun.catch(() => undefined); // Told when it is its turn.
    compiling.set(subject, begun);
    return begun;
  };
  for (const [index, subject] of missing.entries()) {
    if (!hasTime()) break;
    for (const next of missing.slice(index, index + AHEAD)) void compile(next);
    const entry = await record(device, subject, compile(subject));
    compiling.delete(subject);
    recording.entries[keyOf(subject)] = entry;
    onRecorded?.(entry, index + 1, missing.length);
    if (index % BETWEEN_SAVES === 0) await save();
  }
  await save();
}

async function record(
  device: Device,
  subject: Subject,
  compiling: ReturnType<Subject['compile']>,
): Promise<RecordedTime> {
  const { problem, kernel, parameters, workload } = subject;
  const named = { problem, kernel, parameters, workload };
  try {
    const code = await compiling;
    const ptx = digestOf(code.text);
    const loaded = await device.load(code);
    if (!loaded.ok) return { ...named, ptx, registers: {}, failure: loaded.message };
    const { module } = loaded;
    const resources = Object.entries(module.resources ?? {});
    const registers = Object.fromEntries(resources.map(([name, { registersPerThread }]) => [name, registersPerThread]));
    try {
      const plan = subject.plan(device.spec, module);
      const measuredNs = await timeSequence(device, module, plan, subject.inputs(plan));
      return { ...named, ptx, registers, measuredNs };
    } finally {
      await device.unload(module);
    }
  } catch (error) {
    return { ...named, ptx: '', registers: {}, failure: error instanceof Error ? error.message : String(error) };
  }
}
