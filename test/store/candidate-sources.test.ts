import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeCandidate } from '../../src/core/candidate.ts';
import { readCandidateSources, storeCandidateSources } from '../../src/store/candidate-sources.ts';
import { openContentStore } from '../../src/store/content-store.ts';
import { toyCandidate } from '../support/toy-problem.ts';

const folder = mkdtempSync(join(tmpdir(), 'warpsmith-sources-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('what a run keeps of a candidate', () => {
  const objects = openContentStore(folder);
  const candidate = toyCandidate({ parameters: { TILE: { values: [1, 2], default: 1 } } }, { TILE: 2 });

  it('is enough to put it together again', () => {
    const stored = readCandidateSources(objects, storeCandidateSources(objects, candidate));
    const { sources, file = candidate.kernel.file } = stored;
    expect(stored.file).toEqual(candidate.kernel.file);
    expect(makeCandidate({ folder: 'elsewhere', file, sources }, { TILE: 2 }).id).toBe(candidate.id);
  });

  it('has no kernel.json in runs of versions that did not keep it', () => {
    const { 'kernel.json': _kernelJson, ...hashes } = storeCandidateSources(objects, candidate);
    expect(readCandidateSources(objects, hashes)).toEqual({ sources: candidate.kernel.sources });
  });
});
