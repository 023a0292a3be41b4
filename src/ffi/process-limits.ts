import { NativeMemory } from './native-memory.ts';
import { openProcessLibrary } from './open-library.ts';

/** Source: bits/resource.h. */
const RLIMIT_CORE = 4;

/** Leaves no core files when native code crashes. */
export function limitWorkerProcess(): void {
  const noBytes = new NativeMemory(16);
  openProcessLibrary().optionalFunction('setrlimit', 'i32', ['i32', 'address'])?.(RLIMIT_CORE, noBytes.address);
}
