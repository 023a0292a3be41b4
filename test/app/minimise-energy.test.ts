import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openFakeSession } from '../../bench/soak/fake-session.ts';
import { logOf, withoutTimes } from '../../bench/soak/kill-runs.ts';
import { PROBLEM } from '../../bench/soak/scenarios.ts';
import {
  type OptimizeOutcome,
  type OptimizeRequest,
  optimizeProblem,
  prepareRun,
  runLoop,
} from '../../src/app/optimize.ts';
import { resumeRun } from '../../src/app/resume.ts';
import type { Session } from '../../src/app/session.ts';
import type { Evaluator } from '../../src/core/evaluation.ts';
import { createRecordingEvaluator } from '../../src/evaluation/recording/record.ts';
import type { RecordedEvent } from '../../src/store/events.ts';
import { openRecording } from '../../src/store/recording.ts';
import { createRunFolder } from '../../src/store/run-folder.ts';
import { fakeGpu } from '../optimizer/fake-gpu.ts';

let folder: string;
let store: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-energy-'));
  store = join(folder, 'store');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What unrolls is slower and needs less. */
function gpu(): Evaluator {
  const isUnrolled = (name: string): boolean => name.includes('UNROLL=2');
  const fake = fakeGpu({
    ns: (name) => (isUnrolled(name) ? 1100 : 1000),
    joules: (name) => (isUnrolled(name) ? 2e-4 : 3e-4),
    sanitizer: 'clean',
  });
  return {
    ...fake,
    async evaluate(request) {
      const { candidate, ...evaluation } = await fake.evaluate(request);
      return { ...evaluation, candidate: { ...candidate, kernel: request.candidate.kernel.file.name } };
    },
  };
}

const sessionOf = (evaluator: Evaluator): Session => ({
  ...openFakeSession({ kind: 'measured', pauseMs: 0, journal: join(folder, 'journal') }),
  evaluator,
});

const asked: OptimizeRequest = {
  ...{ target: PROBLEM, device: 'cuda:0', minimise: 'energy', strategy: 'exhaustive', seed: 1, trust: true },
  ...{ maximumEvaluations: 20 },
};

async function start(session: Session, options: Partial<OptimizeRequest> = {}): Promise<OptimizeOutcome> {
  const prepared = await prepareRun({ ...asked, store, ...options });
  return runLoop(prepared, session, createRunFolder(prepared.request.store, 'run'), {
    priors: { patterns: [], costs: [] },
  });
}

describe('optimize --minimise energy', () => {
  test('writes a best that says what it needs, a log that says what is minimised, and a command that does it again', async () => {
    const { result, view, bestKernelPath } = await start(sessionOf(gpu()));
    expect(result.best!.candidate.parameters).toMatchObject({ UNROLL: 2 });
    expect(readFileSync(bestKernelPath!, 'utf8')).toContain('1.50× less energy [1.500, 1.500]');
    expect(view.reproduction).toContain('--minimise energy');
    expect(logOf(store)[0]).toMatchObject({ minimised: 'energy', request: { minimise: 'energy' } });
  });

  test('goes on after an interruption as if nothing had been, and minimises the same', async () => {
    await start(sessionOf(gpu()), { store: join(folder, 'whole') });
    const whole = logOf(join(folder, 'whole')).map(withoutTimes);
    const controller = new AbortController();
    const evaluator = gpu();
    await start(
      sessionOf({
        ...evaluator,
        async evaluate(request) {
          if (request.id === 'e4') controller.abort();
          return evaluator.evaluate(request);
        },
      }),
      { signal: controller.signal },
    );
    expect(logOf(store).length).toBeLessThan(whole.length);
    await resumeRun({ store, run: 'latest' }, async () => sessionOf(gpu()));
    expect(logOf(store).map(withoutTimes)).toEqual(whole);
  });

  test('replays from a recording to the bit; a run that minimises time is not answered by it', async () => {
    const session = sessionOf(gpu());
    const replay = join(folder, 'run.jsonl.gz');
    const { device, toolchain } = session;
    const writer = openRecording(replay, {
      ...{ device: device.identity, spec: device.spec, environment: {} },
      compiler: { name: toolchain.identity.name, version: toolchain.identity.version },
    });
    const recording = createRecordingEvaluator(session.evaluator, writer);
    const recorded = await start({ ...session, evaluator: recording });
    await recording.close();
    const elsewhere = join(folder, 'replayed');
    const again = await optimizeProblem({ ...asked, store: elsewhere, replay });
    const decided = (events: readonly RecordedEvent[]) =>
      JSON.stringify(events.filter(({ type }) => type === 'decision' || type === 'confirmation').map(withoutTimes));
    expect(decided(logOf(elsewhere))).toBe(decided(logOf(store)));
    expect(again.view.minimisedEnergy).toEqual(recorded.view.minimisedEnergy);
    const other = await optimizeProblem({ ...asked, store: join(folder, 'other'), minimise: 'time', replay });
    expect(other.result).toMatchObject({
      stopReason: 'device-failed',
      detail: expect.stringContaining('energy: true'),
    });
  });

  test('refuses the recording of a virtual device', async () => {
    const session = openFakeSession({ kind: 'predicted', pauseMs: 0, journal: join(folder, 'journal') });
    const replay = join(folder, 'virtual.jsonl.gz');
    const { device } = session;
    openRecording(replay, {
      ...{ device: device.identity, spec: device.spec, environment: {} },
      compiler: { name: 'clang', version: '1' },
    }).close();
    await expect(optimizeProblem({ ...asked, device: 'recorded', store, replay })).rejects.toMatchObject({
      details: { code: 'energy-needs-a-gpu', path: '--minimise energy' },
    });
  });
});
