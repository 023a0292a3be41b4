import { NativeMemory } from '../../../ffi/native-memory.ts';
import type { ModuleState } from '../../../toolchains/module-policy.ts';
import type { Driver } from '../driver/driver.ts';

/** A copy of a module's variables with their values before any launch. */
export interface SavedVariables {
  readonly ranges: readonly { readonly address: bigint; readonly bytes: number; readonly savedAt: bigint }[];
  readonly base: bigint;
}

/**
 * Copies every variable of a module that has not run yet. Undefined if the module may have others, or if the driver does not
 * know the name of one. Then only loading the module again restores the initial values.
 *
 * @throws CudaError
 */
export function saveVariables(driver: Driver, module: bigint, state: ModuleState): SavedVariables | undefined {
  const places = state.isComplete ? placesOf(driver, module, state.variables) : undefined;
  const total = places?.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0;
  if (!places || total === 0) return undefined;
  const base = driver.create('cuMemAlloc_v2', total);
  let savedAt = base;
  const ranges = places.map(({ address, bytes }) => {
    const range = { address, bytes, savedAt };
    savedAt += BigInt(bytes);
    return range;
  });
  for (const range of ranges) driver.enqueueCopy(range.savedAt, range.address, range.bytes);
  return { ranges, base };
}

/** Enqueues copies that give every variable its initial value. @throws CudaError */
export function enqueueRestore(driver: Driver, { ranges }: SavedVariables): void {
  for (const { address, bytes, savedAt } of ranges) driver.enqueueCopy(address, savedAt, bytes);
}

export const releaseVariables = (driver: Driver, { base }: SavedVariables): void => driver.call('cuMemFree_v2', base);

/**
 * Where the variables lie; undefined if the driver does not know one of them. Each is a range of its own: the driver refuses a
 * copy from one variable on into the next, even where they are neighbours.
 */
function placesOf(
  driver: Driver,
  module: bigint,
  names: readonly string[],
): { address: bigint; bytes: number }[] | undefined {
  const [address, bytes] = [new NativeMemory(8), new NativeMemory(8)];
  const found: { address: bigint; bytes: number }[] = [];
  for (const name of names) {
    if (driver.result('cuModuleGetGlobal_v2', address.address, bytes.address, module, name) !== 0) return undefined;
    found.push({ address: address.pointer(), bytes: Number(bytes.pointer()) });
  }
  return found;
}
