import { createHash } from 'node:crypto';
import type { LaunchCounters } from '../../src/core/counters.ts';
import type { Device } from '../../src/core/device.ts';
import { allocateCheckMemory } from '../../src/evaluation/launches/run-once.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import type { Subject } from './subjects.ts';

const TIMEOUT_MS = 600_000;

/** Names a PTX text in recordings. */
export const digestOf = (ptx: string): string => createHash('sha256').update(ptx).digest('hex').slice(0, 16);

/**
 * What a virtual device counts in one launch sequence, its caches warm.
 *
 * @param ptx digest of the code that a GPU ran.
 * @throws Error if the code is not that one, or does not run.
 */
export async function countSubject(
  device: Device,
  toolchain: Toolchain,
  subject: Subject,
  ptx: string,
): Promise<LaunchCounters[]> {
  const code = await subject.compile(toolchain, device.spec.architecture);
  if (digestOf(code.text) !== ptx) throw new Error('its PTX has changed since a GPU ran it');
  const loaded = await device.load(code);
  if (!loaded.ok) throw new Error(loaded.message);
  const { module } = loaded;
  const plan = subject.plan(device.spec, module);
  const memory = await allocateCheckMemory(device, plan, subject.inputs(plan));
  try {
    for (const { name, role } of plan.buffers)
      if (role === 'inout') await device.write(memory.buffers.get(name)!, memory.contents.get(name)!);
    const run = { orderSeed: 0, count: true, timeoutMs: TIMEOUT_MS, cache: 'hot' as const };
    const outcome = await device.run(module, plan, memory.buffers, run);
    if (!outcome.ok) throw new Error(outcome.message);
    return outcome.counters;
  } finally {
    await memory.close();
    await device.unload(module);
  }
}
