import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Compiled code is shared between the test files of one run, and not with the user or with other runs. */
export default function shareCodeCache(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-test-cache-'));
  process.env.WARPSMITH_CACHE = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
