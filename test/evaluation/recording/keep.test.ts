import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CompiledCode } from '../../../src/core/compiled-code.ts';
import type { Evaluation, EvaluationRequest } from '../../../src/core/evaluation.ts';
import { evaluationSchema } from '../../../src/core/evaluation.ts';
import type { ProfileReport } from '../../../src/core/profile.ts';
import type { Instruments } from '../../../src/evaluation/instruments/instruments.ts';
import { createLiveEvaluator } from '../../../src/evaluation/live-evaluator.ts';
import { createExpectationCache } from '../../../src/evaluation/oracle/expectation-cache.ts';
import { createKeepingEvaluator } from '../../../src/evaluation/recording/keep.ts';
import { createRecordingEvaluator } from '../../../src/evaluation/recording/record.ts';
import { DEVICE_SPECS } from '../../../src/hardware/device-specs.ts';
import { type ContentStore, openContentStore } from '../../../src/store/content-store.ts';
import { openRecording, readRecording } from '../../../src/store/recording.ts';
import { type Disassembly, WITHOUT_PTX } from '../../../src/toolchains/disassemble.ts';
import { createFakeDevice, type FakeKernel } from '../../support/fake-device.ts';
import { createFakeToolchain } from '../../support/fake-toolchain.ts';
import { withMeasuring } from '../../support/measuring-device.ts';
import { longTests } from '../../support/sampling/matrix.ts';
import { honest, toyCandidate, toyProblem, toyWorkload } from '../../support/toy-problem.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

/** The same inputs are judged again and again: what is expected of them is worked out once. */
const problem = toyProblem();
const oracle = createExpectationCache();

const wrong: FakeKernel = ({ load, store }) => store('Y', 'f16', load('X', 'f16'));

const PROFILE: ProfileReport = {
  tool: 'ncu',
  version: '2025.3',
  level: 'light',
  clockControl: 'none',
  cacheControl: 'none',
  launches: [],
  rules: [],
  elapsedMs: 1,
};

const PTX = '.version 8.0';
const SASS = 'IMAD.MOV.U32';

let folder: string;
let store: ContentStore;
let printed: CompiledCode[];
/** How often the kernel had been timed when its code was printed. */
let timedWhenPrinted: number;
let timedCount: number;
let compileCount: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-keeping-'));
  store = openContentStore(join(folder, 'objects'));
  printed = [];
  [compileCount, timedCount] = [0, 0];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Setting {
  kernel?: FakeKernel;
  request?: Partial<EvaluationRequest>;
  disassembly?: Disassembly;
  /** Like NVRTC's: machine code that comes with its PTX; or like a kernel that is a cubin, without. */
  isCubin?: boolean;
  comesWithPtx?: boolean;
  recording?: string;
}

const evaluate = async (setting: Setting = {}): Promise<Evaluation> => {
  const { kernel = honest, disassembly = { ptx: PTX, sass: SASS, notes: [] }, isCubin = false } = setting;
  const device = withMeasuring(createFakeDevice({ kernel }), {
    sequenceNs: () => {
      timedCount += 1;
      return 20_000;
    },
  });
  const fake = createFakeToolchain(undefined, PTX);
  const toolchain: typeof fake = {
    ...fake,
    async compile(asked) {
      compileCount += 1;
      const outcome = await fake.compile(asked);
      if (!outcome.ok || !isCubin) return outcome;
      const ptx = setting.comesWithPtx === false ? {} : { ptx: PTX };
      return { ...outcome, code: { ...outcome.code, kind: 'cubin', text: 'AAAA', ...ptx } };
    },
  };
  const instruments: Instruments = {
    async diagnose({ keepReportIn, level }) {
      const reportObject = keepReportIn?.put('the report');
      return { profile: { ...PROFILE, level, ...(reportObject !== undefined && { reportObject }) }, findings: [] };
    },
  };
  const live = createLiveEvaluator({ device, toolchain, instruments, oracle });
  const compiler = { name: 'fake', version: '1' };
  const spec = DEVICE_SPECS.get('h200')!;
  const recorded =
    setting.recording === undefined
      ? live
      : createRecordingEvaluator(
          live,
          openRecording(setting.recording, { device: device.identity, spec, compiler, environment: {} }),
        );
  const disassemble = async (code: CompiledCode) => {
    printed.push(code);
    timedWhenPrinted = timedCount;
    return disassembly;
  };
  const { architecture } = device.spec;
  await using evaluator = withDisposal(createKeepingEvaluator(recorded, { toolchain, architecture, disassemble }));
  return await evaluator.evaluate({
    problem,
    candidate: toyCandidate(),
    workload: toyWorkload,
    seed: 1,
    ...setting.request,
  });
};

const withDisposal = <T extends { close(): Promise<void> }>(closed: T): T & AsyncDisposable => ({
  ...closed,
  [Symbol.asyncDispose]: () => closed.close(),
});
const stored = (hash: string | undefined) => Buffer.from(store.get(hash!)).toString();

describe('an evaluation that is to keep', () => {
  long('PTX: names it, and prints no machine code', async () => {
    const evaluation = await evaluate({ request: { keep: { store, sass: false } } });
    expect(evaluation.status).toBe('passed');
    expect(evaluation.artifacts).toEqual({ ptx: expect.any(String) });
    expect(stored(evaluation.artifacts?.ptx)).toBe(PTX);
    expect(printed).toEqual([]);
    expect(evaluationSchema.parse(evaluation)).toEqual(evaluation);
  });

  it.each([false, true])('machine code too (cubin: %s)', async (isCubin) => {
    const { artifacts } = await evaluate({ isCubin, request: { keep: { store, sass: true } } });
    expect(stored(artifacts?.ptx)).toBe(PTX);
    expect(stored(artifacts?.sass)).toBe(SASS);
    expect(artifacts!.notes).toBeUndefined();
    expect(printed.map(({ kind }) => kind)).toEqual([isCubin ? 'cubin' : 'ptx']);
    // A tool prints it meanwhile.
    expect(timedWhenPrinted).toBeLessThan(timedCount);
  });

  it('machine code where nothing prints it: why it is missing', async () => {
    const notes = ['SASS: nvdisasm was not found.'];
    const { artifacts } = await evaluate({
      disassembly: { ptx: PTX, notes },
      request: { keep: { store, sass: true } },
    });
    expect(artifacts).toEqual({ ptx: expect.any(String), notes });
  });

  it('machine code that came without PTX: says so', async () => {
    const { artifacts } = await evaluate({
      isCubin: true,
      comesWithPtx: false,
      request: { keep: { store, sass: false } },
    });
    expect(artifacts).toEqual({ notes: [WITHOUT_PTX] });
  });

  it('a profile: the profiler’s report lies in the same store', async () => {
    const { profile } = await evaluate({ request: { profile: 'light', keep: { store, sass: false } } });
    expect(stored(profile?.reportObject)).toBe('the report');
  });

  it('keeps the code of a wrong kernel as well', async () => {
    const { status, artifacts } = await evaluate({ kernel: wrong, request: { keep: { store, sass: true } } });
    expect(status).toBe('wrong');
    expect(stored(artifacts?.sass)).toBe(SASS);
  });

  it('compiles nothing for it that was refused before it was compiled', async () => {
    const candidate = toyCandidate({ limits: ['R > 1000'] });
    const { status, artifacts } = await evaluate({ request: { candidate, keep: { store, sass: true } } });
    expect(status).toBe('unsupported');
    expect(artifacts).toBeUndefined();
    expect([compileCount, printed.length]).toEqual([0, 0]);
  });
});

it('nothing is kept where nothing is to be', async () => {
  const { artifacts, profile } = await evaluate({ request: { profile: 'light' } });
  expect(artifacts).toBeUndefined();
  expect(profile).not.toHaveProperty('reportObject');
  expect(printed).toEqual([]);
});

long('the judgement is the same either way', async () => {
  const parts = ({ status, correctness, timing }: Evaluation) => ({ status, correctness, medianNs: timing?.medianNs });
  const keeping = await evaluate({ request: { keep: { store, sass: true } } });
  expect(parts(keeping)).toEqual(parts(await evaluate()));
});

it('a recording names nothing of a store that its replays do not have', async () => {
  const recording = join(folder, 'run.jsonl.gz');
  await evaluate({ recording, request: { profile: 'light', keep: { store, sass: true } } });
  const { evaluation } = readRecording(recording).evaluations[0]!;
  expect(evaluation.profile).toMatchObject({ tool: 'ncu' });
  expect(evaluation.profile).not.toHaveProperty('reportObject');
  expect(evaluation).not.toHaveProperty('artifacts');
});
