import { describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import type { MeasuringDevice } from '../../../src/core/measuring-device.ts';
import { expandBuffers } from '../../../src/core/plan/expand-buffers.ts';
import { encode } from '../../../src/core/rounding.ts';
import type { Ring } from '../../../src/evaluation/measure/contender.ts';
import { createKernelContender } from '../../../src/evaluation/measure/kernel-contender.ts';
import { createSlotJudge, type SlotJudge } from '../../../src/evaluation/measure/slot-judge.ts';
import { partOfSlot } from '../../../src/evaluation/measure/slot-part.ts';
import { drawInputs } from '../../../src/evaluation/oracle/draw-inputs.ts';
import { type DeviceReference, decodeInputs } from '../../../src/evaluation/oracle/expectations.ts';
import { runHostReference } from '../../../src/evaluation/oracle/reference-runs.ts';
import { createStream } from '../../../src/stats/random.ts';
import { attentionProblem, attentionShape } from '../../support/attention-problem.ts';
import { planLaunch } from '../../support/launch/launch-kernel.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const problem = toyProblem();
const dimensions = { R: 4, C: 64 };
const buffers = expandBuffers(problem.file, dimensions);
const inputs = drawInputs({ problem, buffers, dimensions, seed: 5, generatorSet: 'declared' }).bytes;

/** A device that runs the reference, and on how many perturbed inputs each time: none, few or more. */
const counted = () => {
  const runs: ('none' | 'few' | 'more')[] = [];
  const deviceReference: DeviceReference = {
    async run({ leastTolerances = false, sure = false }) {
      runs.push(leastTolerances ? 'none' : sure ? 'more' : 'few');
      const given = decodeInputs(buffers, inputs);
      const { perturbed, ...exact } = await runHostReference(problem, buffers, given, dimensions, { sure });
      return { ...exact, ...(!leastTolerances && perturbed && { perturbed }) };
    },
    close: async () => {},
  };
  return { deviceReference, runs };
};

const outputsOff = async (relative: number) => {
  const { oracle } = await runHostReference(problem, buffers, decodeInputs(buffers, inputs), dimensions);
  return new Map([
    [
      'Y',
      encode(
        oracle.Y!.map((value) => value * (1 + relative)),
        'f16',
      ),
    ],
  ]);
};

describe('slots compared with the oracle', () => {
  it('right to the last bit: one run of the device reference, none on perturbed inputs', async () => {
    const { deviceReference, runs } = counted();
    const judge = createSlotJudge({ problem, dimensions, deviceReference });
    expect(await judge.whole({ inputs, outputs: await outputsOff(0) })).toBeUndefined();
    expect(runs).toEqual(['none']);
  });

  it('wrong by more than any tolerance: said after the runs on perturbed inputs', async () => {
    const { deviceReference, runs } = counted();
    const judge = createSlotJudge({ problem, dimensions, deviceReference });
    const verdict = await judge.whole({ inputs, outputs: await outputsOff(0.5) });
    expect(runs).toEqual(['none', 'few', 'more']);
    // As a judge without the shortcut says it.
    expect(verdict).toBe(
      await createSlotJudge({ problem, dimensions }).whole({ inputs, outputs: await outputsOff(0.5) }),
    );
    // The next slot needs them at once.
    expect(await judge.whole({ inputs, outputs: await outputsOff(0) })).toBeUndefined();
    expect(runs).toEqual(['none', 'few', 'more', 'few']);
  });
});

describe('parts of a slot', () => {
  const rows = toyProblem({ independentDimensions: ['R'], flop: '4e6 * R * C' });
  const large = { R: 8, C: 64 };
  const shapes = expandBuffers(rows.file, large);

  it('lie in one piece, of as many rows as a host works out quickly', () => {
    const part = partOfSlot(rows, large, createStream(3))!;
    const row = part.offsets.get('X')! / (2 * 64);
    expect(part.dimensions).toEqual({ R: 1, C: 64 });
    expect([part.offsets.get('W'), part.offsets.get('Y')]).toEqual([2 * row, 2 * 64 * row]);
    expect(part.buffers.map(({ name, bytes }) => [name, bytes])).toEqual([
      ['X', 128],
      ['W', 2],
      ['Y', 128],
    ]);
    const starts = Array.from({ length: 64 }, (_, seed) =>
      partOfSlot(rows, large, createStream(seed))!.offsets.get('W'),
    );
    expect(new Set(starts).size).toBe(8);
  });

  it('an axis in front of them is cut to one index; one behind can’t be', () => {
    const heads = { ...attentionProblem(), file: attentionProblem().file };
    const sizes = attentionShape({ B: 2, H: 3, S: 16, D: 64, causal: 0 });
    const part = partOfSlot(heads, sizes, createStream(1))!;
    expect(part.dimensions).toMatchObject({ B: 1, H: 3, S: 16 });
    expect(part.offsets.get('Q')! % (3 * 16 * 64 * 2)).toBe(0);
    const columns = toyProblem({ independentDimensions: ['C'] });
    // Uncut, because it is small.
    expect(partOfSlot(columns, large, createStream(1))!.dimensions).toEqual(large);
    expect(partOfSlot(columns, { R: 2 ** 18, C: 64 }, createStream(1))).toBeUndefined();
  });

  it('are compared with the reference of their own inputs: a wrong row is found wherever it lies', async () => {
    const judge = createSlotJudge({ problem: rows, dimensions: large });
    const all = drawInputs({ problem: rows, buffers: shapes, dimensions: large, seed: 5, generatorSet: 'declared' });
    const { oracle } = await runHostReference(rows, shapes, all.tensors, large);
    for (let seed = 0; seed < 8; seed++) {
      const part = partOfSlot(rows, large, createStream(seed))!;
      const cut = (contents: ReadonlyMap<string, Uint8Array>) =>
        new Map(
          part.buffers.flatMap(({ name, bytes }) => {
            const start = part.offsets.get(name)!;
            const found = contents.get(name);
            return found ? [[name, found.slice(start, start + bytes)] as const] : [];
          }),
        );
      const right = cut(new Map([['Y', encode(oracle.Y!, 'f16')]]));
      const wrong = cut(
        new Map([
          [
            'Y',
            encode(
              oracle.Y!.map((y) => y + 1),
              'f16',
            ),
          ],
        ]),
      );
      const inputs = cut(all.bytes);
      expect(await judge.part(part, { inputs, outputs: right }, seed)).toBeUndefined();
      expect(await judge.part(part, { inputs, outputs: wrong }, seed)).toMatch(
        /^Y\[.* elements wrong \(counted from byte/,
      );
    }
  });

  it.each([
    ['large', 2 ** 15, false, ['part']],
    ['large, in the block that compares one whole', 2 ** 15, true, ['whole']],
    ['small', 16, true, ['whole']],
    ['small, in another block', 16, false, []],
  ])('a slot that is %s', async (_, R, comparesSlot, wanted) => {
    const compared: string[] = [];
    const judge: SlotJudge = {
      whole: async () => void compared.push('whole'),
      part: async () => void compared.push('part'),
    };
    const size = { R, C: 64 };
    const plan = { buffers: expandBuffers(rows.file, size), steps: [planLaunch({ functionName: 'kernel' })] };
    const contender = createKernelContender({
      ...{ name: 'candidate', problem: rows, dimensions: size, judge, plan, timeoutMs: 1 },
      module: {} as LoadedModule,
      device: { measuring: allRight } as unknown as Device,
    });
    const ring: Ring = {
      cache: 'hot',
      slotCount: 2,
      ringBytes: 1,
      sequencesPerReplay: 2,
      rereadsInputs: false,
      replaysPerSample: 1,
    };
    const opened = await contender.openBlock(ring, 1, comparesSlot, { cuts: [1], sampleCount: 5 });
    if (!opened.ok) throw new Error(opened.reason);
    for (let sample = 0; sample < 5; sample++) await opened.block.sample(sample);
    const closed = await opened.block.close();
    if (!closed.ok) throw new Error(closed.reason);
    expect(await (closed.kept?.judge() ?? { ok: true })).toEqual({ ok: true });
    expect(compared).toEqual(wanted);
  });
});

/** Memory that holds nothing, and replays after which everything is as it should be. */
const allRight: Partial<MeasuringDevice> = {
  allocateArena: async (requests) => requests.map(({ name, bytes }) => ({ name, bytes })),
  freeArena: async () => {},
  draw: async () => {},
  readAll: async (ranges) => ranges.map(({ bytes }) => new Uint8Array(bytes!)),
  prepareReplay: async (_module, _plan, slots) => ({ ok: true, replay: { sequenceCount: slots.length } }),
  replayOverheadNs: async () => 0,
  releaseReplay: async () => {},
  replayOnce: async (_replay, { unchanged, poisons, reruns }) => ({
    ok: true,
    ns: 1000,
    changedElements: unchanged.map(() => 0),
    damagedGuards: [],
    heldElements: poisons.map(() => 0),
    equalElements: reruns.map(({ pairs }) => pairs.map(({ left }) => left.bytes)),
  }),
};
