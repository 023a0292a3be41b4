import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bundleSources } from '../../scripts/build/bundle-sources.ts';
import { ROOT } from '../../scripts/build/compile.ts';
import { fingerprintOf } from '../../src/process/code-fingerprint.ts';

/** Builds of the last day's states of the sources are kept: a run of one test file then starts at once. */
const BUILDS = join(ROOT, '.vitest', 'builds');
const KEPT_MS = 24 * 60 * 60 * 1000;

/** What a build follows from, besides src/. */
const PARTS = ['package-lock.json', 'tsconfig.json', 'scripts/build/bundle-sources.ts'];

/**
 * Processes and threads that tests start run a build of the sources: Node strips no types, and loads a few large files
 * instead of hundreds of small ones. While vitest watches, the sources change, and run as they are.
 */
export default async function buildForProcesses({ vitest }: TestProject): Promise<void> {
  if (vitest.config.watch || process.env.WARPSMITH_BUILD !== undefined) return;
  mkdirSync(BUILDS, { recursive: true });
  removeOldBuilds();
  const build = join(BUILDS, stateOfSources());
  if (!existsSync(build)) await make(build);
  const now = new Date();
  utimesSync(build, now, now);
  process.env.WARPSMITH_BUILD = build;
}

function stateOfSources(): string {
  const hash = createHash('sha256').update(fingerprintOf(join(ROOT, 'src')));
  for (const part of PARTS) hash.update(readFileSync(join(ROOT, part)));
  return hash.digest('hex').slice(0, 16);
}

function removeOldBuilds(): void {
  for (const name of readdirSync(BUILDS)) {
    const folder = join(BUILDS, name);
    // Another run may just have renamed or removed it.
    const state = statSync(folder, { throwIfNoEntry: false });
    if (state && Date.now() - state.mtimeMs > KEPT_MS) rmSync(folder, { recursive: true, force: true });
  }
}

/** Whole or not at all: another run may make the same one. */
async function make(build: string): Promise<void> {
  const unfinished = mkdtempSync(`${build}-`);
  // Some tests run it as another user.
  chmodSync(unfinished, 0o755);
  await bundleSources(unfinished);
  try {
    renameSync(unfinished, build);
  } catch (error) {
    rmSync(unfinished, { recursive: true });
    if (!existsSync(build)) throw error;
  }
}
