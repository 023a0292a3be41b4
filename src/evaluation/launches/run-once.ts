import { allEnded } from '../../core/all-ended.ts';
import type { Device, RunOptions, RunOutcome } from '../../core/device.ts';
import type { DeviceBuffer, DeviceFailure, LoadedModule } from '../../core/device-values.ts';
import { type LaunchPlan, type PlannedBuffer, startingPattern } from '../../core/launch-plan.ts';
import { decode } from '../../core/rounding.ts';
import { elementCountOf, firstChangedPaddingByte, multiIndexOf, packElements, spreadElements } from './layout.ts';
import { NAN_POISON, type Poison } from './poison.ts';
import { clearInsignificant, insignificantElements } from './significant.ts';

/** Device memory of a launch sequence: exact-size buffers, freed by `close`. */
export interface CheckMemory {
  readonly device: Device;
  readonly plan: LaunchPlan;
  readonly buffers: ReadonlyMap<string, DeviceBuffer>;
  /** Initial bytes of every `in` and `inout` buffer. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
  close(): Promise<void>;
}

/*
 * A GPU's process answers one request after the other, and a small check is a few dozen of them. So requests that do not depend on one
 * another are made together, and nobody waits for an answer before the next one.
 */

/**
 * Allocates the plan's buffers, fills the inputs, and the workspaces with `init: once`.
 *
 * @param options.minimumAlignment - whether buffers have only their declared alignment.
 */
export async function allocateCheckMemory(
  device: Device,
  plan: LaunchPlan,
  contents: ReadonlyMap<string, Uint8Array>,
  { minimumAlignment = false }: { minimumAlignment?: boolean } = {},
): Promise<CheckMemory> {
  const buffers = new Map<string, DeviceBuffer>();
  const close = async (): Promise<void> => {
    const all = [...buffers.values()];
    buffers.clear();
    await allEnded(all.map((buffer) => device.free(buffer)));
  };
  const place = async (planned: PlannedBuffer): Promise<void> => {
    const { name, role, bytes, alignmentBytes } = planned;
    const buffer = await device.allocate({ name, bytes, alignmentBytes, minimumAlignment });
    buffers.set(name, buffer);
    if (role === 'in') await device.write(buffer, contents.get(name)!);
    const pattern = startingPattern(planned);
    if (pattern) await device.fill(buffer, pattern);
  };
  try {
    await allEnded(plan.buffers.map(place));
  } catch (error) {
    await close();
    throw error;
  }
  return { device, plan, buffers, contents, close };
}

/** The same buffers with other inputs written into them. */
export async function replaceInputs(
  memory: CheckMemory,
  contents: ReadonlyMap<string, Uint8Array>,
): Promise<CheckMemory> {
  const inputs = memory.plan.buffers.filter(({ role }) => role === 'in');
  await allEnded(inputs.map(({ name }) => memory.device.write(memory.buffers.get(name)!, contents.get(name)!)));
  return { ...memory, contents };
}

const ZERO = new Uint8Array(1);

/** One execution of the launch sequence: its order and poison. What only some devices can is left to them. */
export interface RunConditions extends Readonly<Omit<RunOptions, 'findRaces'>> {
  readonly name: string;
  readonly poison: Poison;
  /** Look for races, on devices that can. */
  readonly findsRaces?: boolean;
  /** Fill the workspaces with `init: once` again, as if no run had come before. */
  readonly forgetsEarlierRuns?: boolean;
  /**
   * Output name → packed elements that fill the output instead of poison. Undefined workspaces then keep the contents that
   * the previous run left.
   */
  readonly leftovers?: ReadonlyMap<string, Uint8Array>;
}

/** What a run left behind: each output's packed elements, and what the device tells of it. */
export interface RunResult extends Readonly<Omit<Extract<RunOutcome, { ok: true }>, 'elapsedMs'>> {
  readonly conditions: RunConditions;
  readonly outputs: ReadonlyMap<string, Uint8Array>;
}

/** What a run left in one buffer; nobody reads workspaces, nor inputs that are as they were. */
async function look({ device, buffers }: CheckMemory, { name, role }: PlannedBuffer) {
  const buffer = buffers.get(name)!;
  const contents = async (): Promise<Uint8Array | undefined> => {
    if (role === 'workspace') return undefined;
    return role === 'in' && (await device.isUnchanged?.(buffer)) ? undefined : device.read(buffer);
  };
  const [damaged, bytes] = await allEnded([device.damagedGuardBytes(buffer), contents()]);
  return { damaged, bytes };
}

/** Larger buffers are read one at a time, so that the host need not hold them all. */
const READ_TOGETHER_BYTES = 64 * 1024 ** 2;

/**
 * Poisons, runs the launch sequence, then checks for damage: guard zones, inputs, and the gaps between an output's
 * elements. Damage is `unsafe` for any outputs.
 */
export async function runOnce(
  memory: CheckMemory,
  module: LoadedModule,
  conditions: RunConditions,
): Promise<RunResult | DeviceFailure> {
  const { device, plan, buffers } = memory;
  await allEnded(plan.buffers.map((buffer) => prepareBuffer(memory, buffer, conditions)));
  const { name: _, poison, findsRaces, forgetsEarlierRuns: __, leftovers: ___, ...options } = conditions;
  const outcome = await device.run(module, plan, buffers, { ...options, findRaces: findsRaces });
  if (!outcome.ok) return outcome;

  const outputs = new Map<string, Uint8Array>();
  const bytesInAll = plan.buffers.reduce((sum, { bytes }) => sum + bytes, 0);
  const looks = bytesInAll <= READ_TOGETHER_BYTES ? await allEnded(plan.buffers.map((one) => look(memory, one))) : [];
  for (const [i, buffer] of plan.buffers.entries()) {
    const { damaged, bytes } = looks[i] ?? (await look(memory, buffer));
    if (damaged > 0) return unsafe(`wrote outside buffer '${buffer.name}': ${damaged} guard bytes changed`);
    if (!bytes) continue;
    if (buffer.role === 'in') {
      const problem = inputChange(buffer, memory.contents.get(buffer.name)!, bytes);
      if (problem) return unsafe(problem);
      continue;
    }
    const padding = firstChangedPaddingByte(buffer, bytes, paddingOf(buffer, poison));
    if (padding >= 0) return unsafe(`wrote between the elements of output '${buffer.name}', at byte ${padding}`);
    outputs.set(buffer.name, packElements(buffer, bytes));
  }
  clearAll(plan.buffers, outputs, memory.contents);
  const { elapsedMs: _elapsed, ...told } = outcome;
  return { ...told, conditions, outputs };
}

/** Clears elements that do not matter. A kernel's own lengths say which: wrong ones are found when they are compared. */
function clearAll(
  buffers: readonly PlannedBuffer[],
  outputs: Map<string, Uint8Array>,
  contents: CheckMemory['contents'],
): void {
  const lengthsOf = (name: string): Float64Array => {
    const buffer = buffers.find((one) => one.name === name)!;
    return decode(outputs.get(name) ?? packElements(buffer, contents.get(name)!), buffer.dtype);
  };
  for (const buffer of buffers) {
    const marks = insignificantElements(buffer, lengthsOf);
    if (marks) outputs.set(buffer.name, clearInsignificant(outputs.get(buffer.name)!, marks));
  }
}

const unsafe = (message: string): DeviceFailure => ({ ok: false, status: 'unsafe', message });

async function prepareBuffer(
  memory: CheckMemory,
  planned: PlannedBuffer,
  { poison, forgetsEarlierRuns, leftovers }: RunConditions,
): Promise<void> {
  const { device } = memory;
  const buffer = memory.buffers.get(planned.name)!;
  const left = leftovers?.get(planned.name);
  if (planned.role === 'inout') await device.write(buffer, memory.contents.get(planned.name)!);
  else if (left) await device.write(buffer, spreadElements(planned, left, poison.byteValue));
  else if (planned.role === 'out' || (planned.init === 'undefined' && !leftovers))
    await device.fill(buffer, Uint8Array.of(poison.byteValue));
  const pattern = planned.init === 'zero' ? ZERO : forgetsEarlierRuns && startingPattern(planned);
  if (pattern) await device.fill(buffer, pattern);
}

/** Gaps of an `inout` buffer hold their initial contents. */
const paddingOf = (buffer: PlannedBuffer, poison: Poison): number =>
  (buffer.role === 'inout' ? NAN_POISON : poison).byteValue;

function inputChange(buffer: PlannedBuffer, before: Uint8Array, after: Uint8Array): string | undefined {
  if (Buffer.compare(before, after) === 0) return undefined;
  const [packedBefore, packedAfter] = [packElements(buffer, before), packElements(buffer, after)];
  const elementCount = elementCountOf(buffer);
  const elementBytes = packedBefore.length / elementCount;
  const changed = new Set<number>();
  packedBefore.forEach((byte, i) => {
    if (byte !== packedAfter[i]) changed.add(Math.floor(i / elementBytes));
  });
  const [first] = changed;
  const where =
    first === undefined ? 'between its elements' : `first [${multiIndexOf(buffer.shape, first).join(', ')}]`;
  return `modified input '${buffer.name}': ${changed.size} of ${elementCount} elements changed, ${where}`;
}
