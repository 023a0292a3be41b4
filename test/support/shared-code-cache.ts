import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Compiled code is shared between the test files of one run, and not with the user or with other runs: kernels, and the
 * modules of what tests start. A thread of a virtual GPU starts in a fifth of the processor time if types were stripped before.
 */
export default function shareCodeCache(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-test-cache-'));
  process.env.WARPSMITH_CACHE = folder;
  process.env.NODE_COMPILE_CACHE = join(folder, 'modules');
  return () => rmSync(folder, { recursive: true, force: true });
}
