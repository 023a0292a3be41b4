import { NativeMemory } from './native-memory.ts';
import { openProcessLibrary } from './open-library.ts';

/** Source: linux/prctl.h, bits/resource.h. */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;
const RLIMIT_CORE = 4;

/**
 * Ends this process when its parent ends, however that happens and whatever this one is doing then; and leaves no core
 * files when native code crashes.
 */
export function limitWorkerProcess(): void {
  const libc = openProcessLibrary();
  libc.optionalFunction('prctl', 'i32', ['i32', 'u64', 'u64', 'u64', 'u64'])?.(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  const noBytes = new NativeMemory(16);
  libc.optionalFunction('setrlimit', 'i32', ['i32', 'address'])?.(RLIMIT_CORE, noBytes.address);
}
