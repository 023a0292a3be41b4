import type { LaunchCounters } from '../../src/core/counters.ts';
import type { Device } from '../../src/core/device.ts';
import { memsetBytesOf } from '../../src/core/launch-plan.ts';
import { NAN_POISON } from '../../src/evaluation/launches/poison.ts';
import { allocateCheckMemory, runOnce } from '../../src/evaluation/launches/run-once.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { digestOf } from '../recording-file.ts';
import type { Subject } from './subjects.ts';
import { sequencesInGraph } from './time-subject.ts';

const TIMEOUT_MS = 600_000;

/** What a sequence does, on whatever device. */
export interface CountedSequence {
  readonly counters: LaunchCounters[];
  /** Of each memset that is timed: workspaces are zeroed before the clock starts. */
  readonly memsetBytes: number[];
}

/**
 * What a virtual device counts in one launch sequence, its caches warm.
 *
 * @param timed digest of the code that a GPU ran, several sequences of it in one graph; undefined where it ran what another compiler made of
 *     the same text, one sequence after the other on a hot cache.
 * @throws Error if the code is not that one, or does not run.
 */
export async function countSubject(
  device: Device,
  toolchain: Toolchain,
  subject: Subject,
  timed?: string,
): Promise<CountedSequence> {
  const code = await subject.compile(toolchain, device.spec.architecture);
  if (timed !== undefined && digestOf(code.text) !== timed) throw new Error('its PTX has changed since a GPU ran it');
  const loaded = await device.load(code);
  if (!loaded.ok) throw new Error(loaded.message);
  const { module } = loaded;
  const plan = subject.plan(device.spec, module);
  const memory = await allocateCheckMemory(device, plan, subject.inputs(plan));
  try {
    const conditions = { name: 'count', orderSeed: 0, poison: NAN_POISON, count: true, timeoutMs: TIMEOUT_MS };
    // L2 holds a sequence's data from its last replay only if it holds those of all sequences in the graph. Each of its two
    // halves caches what the SMs on its side read (NVIDIA A100 whitepaper, L2), so both hold what SMs of both sides read.
    const isHot = timed === undefined || sequencesInGraph(plan).bytes <= device.spec.l2Bytes.value / 2;
    const outcome = await runOnce(memory, module, { ...conditions, cache: isHot ? 'hot' : 'cold' });
    if (!outcome.ok) throw new Error(outcome.message);
    return { counters: outcome.counters, memsetBytes: memsetBytesOf(plan) };
  } finally {
    await memory.close();
    await device.unload(module);
  }
}
