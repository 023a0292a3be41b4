import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Device } from '../../../src/core/device.ts';
import type { DeviceFailure, LoadedModule } from '../../../src/core/device-values.ts';
import type { Candidate, StepDeclaration } from '../../../src/core/kernel.ts';
import type { LaunchPlan, PlannedLaunch } from '../../../src/core/launch-plan.ts';
import type { Problem } from '../../../src/core/problem.ts';
import { listDevices, openDevice } from '../../../src/devices/open-device.ts';
import { planLaunches } from '../../../src/evaluation/launches/plan-launches.ts';
import { NAN_POISON } from '../../../src/evaluation/launches/poison.ts';
import { allocateCheckMemory, runOnce } from '../../../src/evaluation/launches/run-once.ts';
import { allocateSlots } from '../../../src/evaluation/measure/slots.ts';
import { timedPlan } from '../../../src/evaluation/measure/timed-plan.ts';
import { DECLARED } from '../../../src/evaluation/oracle/check.ts';
import { drawInputs } from '../../../src/evaluation/oracle/draw-inputs.ts';
import { createToolchain } from '../../../src/toolchains/create-toolchain.ts';
import type { Toolchain } from '../../../src/toolchains/toolchain.ts';
import { CUBIN_CASE, kernelFileOf, LAUNCH_PLAN_CASES, type LaunchPlanCase } from './launch-plan-cases.ts';

const CHIP = { key: 1, isL2Swept: false };

const GPU = 'cuda:0';
const hasGpu = listDevices().some(({ id }) => id === GPU);
const TIMEOUT_MS = 10_000;
const KERNELS = join(import.meta.dirname, 'kernels');

const wordsOf = (bytes: Uint8Array): Uint32Array => new Uint32Array(bytes.slice().buffer);

const problemOf = ([x, y]: LaunchPlanCase['words']): Problem => ({
  folder: KERNELS,
  file: {
    schemaVersion: 1,
    name: 'words',
    description: '',
    dimensions: { XWords: { description: '', minimum: 1 }, YWords: { description: '', minimum: 1 } },
    inputs: {
      x: {
        dtype: 'u32',
        shape: ['XWords'],
        access: 'in',
        alignmentBytes: 128,
        generator: { kind: 'index-range', low: 0, high: 2 ** 31 },
      },
    },
    outputs: { y: { dtype: 'u32', shape: ['YWords'], access: 'out', alignmentBytes: 128 } },
    flop: 1,
    minimumFlop: 1,
    minimumReadBytes: 1,
    workloads: [{ name: 'main', dimensions: { XWords: x, YWords: y } }],
    checkShapes: [],
    comparison: { kind: 'exact' },
    determinism: 'bitwise',
    start: '01',
    rungs: ['01'],
  },
  reference: () => {
    throw new Error('each case says itself what it expects');
  },
});

describe.skipIf(!hasGpu)(`launch plans on ${GPU} (skipped without an NVIDIA GPU)`, () => {
  let device: Device;
  let toolchain: Toolchain;

  beforeAll(async () => {
    device = await openDevice(GPU);
    toolchain = await createToolchain({ target: 'cuda' });
  });
  afterAll(async () => {
    await toolchain?.close?.();
    await device?.close();
  });

  const candidateOf = (planCase: LaunchPlanCase): Candidate => {
    const file = kernelFileOf(planCase, planCase.source);
    const text = readFileSync(join(KERNELS, planCase.source), 'utf8');
    return makeCandidate({ folder: KERNELS, file, sources: { [planCase.source]: text } }, {});
  };

  const load = async (candidate: Candidate): Promise<LoadedModule> => {
    const compiled = await toolchain.compile({ candidate, architecture: device.spec.architecture });
    if (!compiled.ok) throw new Error(`${compiled.status}: ${compiled.message}`);
    const loaded = await device.load(compiled.code);
    if (!loaded.ok) throw new Error(`${loaded.status}: ${loaded.message}`);
    return loaded.module;
  };

  interface Prepared {
    readonly planCase: LaunchPlanCase;
    readonly problem: Problem;
    readonly dimensions: Readonly<Record<string, number>>;
    readonly module: LoadedModule;
    readonly plan: LaunchPlan;
  }

  const prepare = async (planCase: LaunchPlanCase, candidate = candidateOf(planCase)): Promise<Prepared> => {
    const problem = problemOf(planCase.words);
    const { dimensions } = problem.file.workloads[0]!;
    const module = await load(candidate);
    const plan = planLaunches({ problem, candidate, dimensions, spec: device.spec, module });
    return { planCase, problem, dimensions, module, plan };
  };

  /** Twice, as verification runs it: outputs poisoned, guard zones and inputs looked at. */
  const runAlone = async ({ planCase, problem, dimensions, module, plan }: Prepared): Promise<void> => {
    const drawn = drawInputs({ problem, buffers: plan.buffers, dimensions, seed: 1, generatorSet: DECLARED });
    const memory = await allocateCheckMemory(device, plan, drawn.bytes);
    try {
      for (const name of ['first', 'second']) {
        const conditions = { name, orderSeed: 0, poison: NAN_POISON, count: false, timeoutMs: TIMEOUT_MS };
        const result = await runOnce(memory, module, conditions);
        if (!result.ok) throw new Error(`${name} run: ${result.status}: ${result.message}`);
        expectWords(
          wordsOf(result.outputs.get('y')!),
          planCase.expected(wordsOf(drawn.bytes.get('x')!)),
          `${name} run`,
        );
      }
    } finally {
      await memory.close();
    }
  };

  /** As it is timed: one graph of a sequence for each slot, with the outputs of every slot compared. */
  const runReplays = async ({ planCase, problem, dimensions, module, plan }: Prepared): Promise<void> => {
    const measuring = device.measuring!;
    const timed = timedPlan(plan);
    const { slotCount = 4, replayCount = 3 } = planCase;
    const slots = await allocateSlots(measuring, { plan: timed, problem, dimensions, slotCount, seed: 7 });
    try {
      const replay = await measuring.prepareReplay(module, timed, slots.all);
      if (!replay.ok) throw new Error(`${replay.status}: ${replay.message}`);
      for (let round = 0; round < replayCount; round++) {
        await slots.writeInputs(100 + round);
        const around = { ...slots.round(100 + round, slotCount, []), chip: CHIP, reread: slots.inputs };
        const played = await measuring.replayOnce(replay.replay, around, TIMEOUT_MS);
        if (!played.ok) throw new Error(`replay ${round}: ${played.status}: ${played.message}`);
        expect(played.ns).toBeGreaterThan(0);
        expect(await slots.damage(played)).toBeUndefined();
        for (let slot = 0; slot < slotCount; slot++) {
          const contents = await slots.read(slot, ['in', 'out']);
          const expected = planCase.expected(wordsOf(contents.get('x')!));
          expectWords(wordsOf(contents.get('y')!), expected, `slot ${slot} of replay ${round}`);
        }
      }
      await measuring.releaseReplay(replay.replay);
    } finally {
      await slots.free();
    }
  };

  /** The first difference, not thousands of words. */
  function expectWords(got: Uint32Array, want: Uint32Array, where: string): void {
    expect(got.length).toBe(want.length);
    const first = got.findIndex((word, i) => word !== want[i]);
    const count = got.reduce((sum, word, i) => sum + Number(word !== want[i]), 0);
    const difference = first < 0 ? undefined : { first, got: got[first], want: want[first], count };
    expect(difference, where).toBeUndefined();
  }

  /** How a plan is refused: in a run of its own and in a replay, which must agree. */
  const refusalOf = async (module: LoadedModule, steps: LaunchPlan['steps']): Promise<DeviceFailure> => {
    const buffer = async (name: string) =>
      [name, await device.allocate({ name, bytes: 4096, alignmentBytes: 128 })] as const;
    const slot = new Map([await buffer('x'), await buffer('y')]);
    try {
      const plan = { buffers: [], steps };
      const run = await device.run(module, plan, slot, { orderSeed: 0, count: false, timeoutMs: TIMEOUT_MS });
      const replay = await device.measuring!.prepareReplay(module, plan, [slot]);
      if (run.ok || replay.ok) throw new Error('it was not refused');
      expect(replay).toEqual(run);
      return run;
    } finally {
      for (const allocated of slot.values()) await device.free(allocated);
    }
  };

  it.each(LAUNCH_PLAN_CASES)('$title', async (planCase) => {
    const prepared = await prepare(planCase);
    try {
      await runAlone(prepared);
      await runReplays(prepared);
    } finally {
      await device.unload(prepared.module);
    }
  });

  it(CUBIN_CASE.title, async (context) => {
    const cuda = candidateOf(CUBIN_CASE);
    const compiled = await toolchain.compile({ candidate: cuda, architecture: device.spec.architecture });
    if (!compiled.ok) throw new Error(`${compiled.status}: ${compiled.message}`);
    if (compiled.code.kind !== 'cubin') context.skip(`${toolchain.identity.name} makes PTX, not cubins`);
    const file = kernelFileOf(CUBIN_CASE, 'triple.cubin');
    const sources = { 'triple.cubin': compiled.code.text };
    const prepared = await prepare(CUBIN_CASE, makeCandidate({ folder: KERNELS, file, sources }, {}));
    try {
      expect(prepared.module.code).toMatchObject({ kind: 'cubin', compiler: { name: 'none' } });
      await runAlone(prepared);
      await runReplays(prepared);
    } finally {
      await device.unload(prepared.module);
    }
  });

  describe('refused', () => {
    const cooperative = LAUNCH_PLAN_CASES.find(({ source }) => source === 'cooperative.cu')!;
    const triple = LAUNCH_PLAN_CASES.find(({ source }) => source === 'triple.ptx')!;
    const [x, y] = [
      { kind: 'buffer', buffer: 'x', offsetBytes: 0 },
      { kind: 'buffer', buffer: 'y', offsetBytes: 0 },
    ] as const;
    const launchOf = ({ plan }: Prepared): PlannedLaunch =>
      plan.steps.find((step): step is PlannedLaunch => step.kind === 'launch')!;

    it('a cooperative launch of one CTA more than the GPU holds', async () => {
      const prepared = await prepare(cooperative);
      const launch = launchOf(prepared);
      const grid = [launch.grid[0] + 1, 1, 1] as const;
      const refusal = await refusalOf(prepared.module, [{ ...launch, grid, arguments: [x, count(1024), x, y] }]);
      expect(refusal).toMatchObject({ status: 'launch-failed' });
      expect(refusal.message).toContain(`a cooperative launch of ${grid[0]} CTAs`);
      expect(refusal.message).toContain(`holds ${launch.grid[0]} at once`);
      await device.unload(prepared.module);
    });

    it('a cluster that no GPC holds, and a grid that is not made of whole ones', async () => {
      const prepared = await prepare(LAUNCH_PLAN_CASES.find(({ source }) => source === 'clusters.cu')!);
      const launch = { ...launchOf(prepared), arguments: [x, y] };
      const large = await refusalOf(prepared.module, [{ ...launch, grid: [64, 1, 1], cluster: [32, 1, 1] }]);
      expect(large).toMatchObject({ status: 'launch-failed', message: expect.stringContaining('cluster of 32') });
      const ragged = await refusalOf(prepared.module, [{ ...launch, grid: [5, 1, 1], cluster: [2, 1, 1] }]);
      expect(ragged).toMatchObject({ status: 'launch-failed', message: expect.stringContaining('whole clusters') });
      await device.unload(prepared.module);
    });

    it('more shared memory than a CTA can have', async () => {
      const prepared = await prepare(LAUNCH_PLAN_CASES.find(({ source }) => source === 'shared-memory.cu')!);
      const launch = { ...launchOf(prepared), arguments: [x, count(1), y] };
      const most = device.spec.sharedBytesPerCta.value;
      const refusal = await refusalOf(prepared.module, [{ ...launch, dynamicSharedBytes: most + 1 }]);
      expect(refusal).toMatchObject({ status: 'launch-failed', message: expect.stringContaining(`allows ${most}`) });
      await device.unload(prepared.module);
    });

    it.each([triple, CUBIN_CASE])(
      'arguments that do not match the function: which, and how ($source)',
      async (planCase) => {
        const prepared = await prepare(planCase);
        const launch = launchOf(prepared);
        const few = await refusalOf(prepared.module, [{ ...launch, arguments: [x, y] }]);
        expect(few).toMatchObject({
          status: 'invalid',
          mismatch: { functionName: 'triple', received: '2 arguments', expected: '3 arguments' },
        });
        const wide = await refusalOf(prepared.module, [{ ...launch, arguments: [x, x, y] }]);
        expect(wide).toMatchObject({
          status: 'invalid',
          mismatch: { argumentIndex: 1, received: '8 bytes (buffer x)', expected: '4 bytes' },
        });
        await device.unload(prepared.module);
      },
    );

    it('kernels that launch kernels: in the source, and in the code', async () => {
      const steps: StepDeclaration[] = [{ function: 'parent', grid: [1], block: [32], arguments: [{ buffer: 'y' }] }];
      const candidate = candidateOf({ ...triple, source: 'launches-itself.cu', steps });
      const compiled = await toolchain.compile({ candidate, architecture: device.spec.architecture });
      expect(compiled).toMatchObject({ ok: false, status: 'invalid' });
      const text = `${readFileSync(join(KERNELS, 'triple.ptx'), 'utf8')}
.extern .func (.param .b32 result) cudaLaunchDeviceV2 (.param .b64 parameters, .param .b64 stream) ;`;
      const loaded = await device.load({ ...(await load(candidateOf(triple))).code, text });
      expect(loaded).toMatchObject({
        ok: false,
        status: 'unsupported',
        message: expect.stringContaining('cudaLaunchDeviceV2'),
      });
    });

    const count = (value: number) => ({ kind: 'scalar', dtype: 'u32', value }) as const;
  });
});
