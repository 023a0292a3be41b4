import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { judge } from '../../src/app/evaluate.ts';
import { optimizeProblem } from '../../src/app/optimize.ts';
import { listDevices } from '../../src/devices/open-device.ts';
import { openContentStore } from '../../src/store/content-store.ts';
import { readEventLog } from '../../src/store/event-log.ts';
import { UNLIMITED } from '../../src/store/events.ts';
import { eventsPath, RUN_FILES } from '../../src/store/run-folder.ts';
import { findCudaTool } from '../../src/toolchains/cuda-toolkit.ts';

const GPU = 'cuda:0';
const hasGpu = listDevices().some(({ id }) => id === GPU);
const hasDisassembler = (['nvdisasm', 'cuobjdump'] as const).some((tool) => findCudaTool(tool) !== undefined);
const SCALE = fileURLToPath(new URL('../cli/fixtures/scale', import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-keep-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!hasGpu)(`what is kept on ${GPU} (skipped without an NVIDIA GPU)`, () => {
  const options = { device: GPU, workloads: [], parameters: {}, seed: 1 };

  it('of one evaluation: PTX, machine code and the profiler’s report, as far as the tools allow', async () => {
    const target = join(SCALE, '02_coalesced');
    const { evaluation, kept } = await judge({ ...options, target, profile: 'light', keep: folder });
    expect(evaluation.status, evaluation.reason).toBe('passed');
    const { artifacts, profile } = evaluation;
    expect(readdirSync(folder).sort()).toEqual([...kept!].sort());
    expect(readFileSync(join(folder, 'kernel.ptx'), 'utf8')).toMatch(/\.entry/);
    if (hasDisassembler) expect(readFileSync(join(folder, 'kernel.sass'), 'utf8')).toMatch(/\bEXIT\b/);
    else expect(artifacts?.notes?.join()).toMatch(/SASS/);
    expect(kept!.includes('profile.ncu-rep')).toBe(profile !== undefined);
    if (profile) expect(readFileSync(join(folder, 'profile.ncu-rep')).length).toBeGreaterThan(1000);
  });

  it('of a run: what every evaluation names lies in the store, unchanged', async () => {
    const budgets = { ...UNLIMITED, maximumEvaluations: 6 };
    const { runFolder } = await optimizeProblem({ ...options, target: SCALE, store: folder, budgets });
    const objects = openContentStore(join(runFolder, RUN_FILES.objects));
    const evaluations = readEventLog(eventsPath(runFolder)).events.flatMap((event) =>
      event.type === 'evaluation-finished' ? [event.evaluation] : [],
    );
    expect(evaluations.length).toBeGreaterThan(1);
    for (const { artifacts, elapsedMs, timing, profile } of evaluations) {
      if (elapsedMs.verify > 0) expect(Buffer.from(objects.get(artifacts!.ptx!)).toString()).toMatch(/\.entry/);
      const tier = timing?.measurement?.conditions.tier;
      if (tier === 'screen') expect(artifacts).not.toHaveProperty('sass');
      if (tier === 'accept' && hasDisassembler)
        expect(Buffer.from(objects.get(artifacts!.sass!)).toString()).toMatch(/\bEXIT\b/);
      if (profile) expect(objects.get(profile.reportObject!).length).toBeGreaterThan(1000);
    }
  }, 600_000);
});
