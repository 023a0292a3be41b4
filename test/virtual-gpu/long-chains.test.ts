import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../src/core/device.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { launchKernel, loadCode, words } from '../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../support/launch/ptx-text.ts';
import { runThread } from './control-flow/scalar-thread.ts';

/**
 * Straight lines of instructions that wait for each other. Converged warps run two chunks of four lanes side by side there;
 * the warp of 8 lanes has inactive ones and runs them one by one.
 */
const THREADS = 72;
/** Of each of two blocks: values go from one to the other through the warp's state. */
const LENGTH = 40;

let device: Device;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
});

afterAll(() => device.close());

/** Values of 0 … limit − 1, the same for each seed. */
function draws(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** Words %r1 … %r4, double words %d1 and %d2, a predicate: each instruction reads what the one before wrote. */
function randomChain(seed: number): string {
  const draw = draws(seed);
  const words = ['%r1', '%r2', '%r3', '%r4'];
  const other = (): string => words[draw(4)]!;
  let last = '%r1';
  const step = (): string => {
    const target = other();
    const forms = [
      `add.u32 ${target}, ${last}, ${other()};`,
      `mad.lo.u32 ${target}, ${last}, ${other()}, ${draw(1000)};`,
      `xor.b32 ${target}, ${last}, ${other()};`,
      `shf.l.wrap.b32 ${target}, ${last}, ${other()}, ${draw(32)};`,
      `mul.wide.u32 %d1, ${last}, ${other()}; add.u64 %d2, %d2, %d1; cvt.u32.u64 ${target}, %d2;`,
      `setp.lt.u32 %p1, ${last}, ${other()}; selp.b32 ${target}, ${other()}, ${last}, %p1;`,
      `setp.ne.u32 %p2, ${last}, ${draw(100)}; @%p2 add.u32 ${target}, ${last}, ${draw(100)};`,
      `min.u32 ${target}, ${last}, ${2 ** 31 + draw(2 ** 30)}; add.u32 ${target}, ${target}, ${other()};`,
    ];
    last = target;
    return forms[draw(forms.length)]!;
  };
  return [
    'mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 40503; xor.b32 %r3, %r2, 12345; add.u32 %r4, %r3, %r2; mov.u64 %d2, 7;',
    ...Array.from({ length: LENGTH }, step),
    'bra NEXT;\nNEXT:',
    ...Array.from({ length: LENGTH }, step),
    'mov.u32 %r9, %tid.x; mul.wide.u32 %d5, %r9, 4; add.u64 %d6, %out, %d5;',
    'add.u32 %r1, %r1, %r2; xor.b32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; st.global.u32 [%d6], %r1;',
  ].join('\n');
}

describe('instructions that wait for each other', () => {
  it('give each lane what its thread alone computes, and are counted once', async () => {
    const seeds = Array.from({ length: 12 }, (_, i) => i + 1);
    const text = moduleText(
      ...seeds.map((seed) => entry({ name: `chain${seed}`, parameters: ['u64 out'], body: randomChain(seed) })),
    );
    const parsed = parsePtx(text);
    const module = await loadCode(device, text);
    for (const seed of seeds) {
      const fn = parsed.functions.find(({ name }) => name === `chain${seed}`)!;
      const alone = Array.from({ length: THREADS }, (_, thread) => runThread(fn, { out: 0n }, { '%tid.x': thread }));
      for (const count of [false, true]) {
        const { contents, counters } = await launchKernel(device, module, {
          functionName: `chain${seed}`,
          block: THREADS,
          arguments: ['out'],
          buffers: { out: THREADS * 4 },
          options: { count },
        });
        expect([...words(contents.out!)], `chain ${seed}`).toEqual(
          alone.map(({ stored }, thread) => Number(stored.get(BigInt(4 * thread)))),
        );
        if (count) expect(counters.threadInstructions).toBe(alone.reduce((sum, run) => sum + run.instructions, 0));
      }
    }
    await device.unload(module);
  });

  it('read one value for the warp and one for each lane, and write their own', async () => {
    const count = 30;
    const body = [
      'mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.u64 %d2, %in, %d1; add.u64 %d3, %out, %d1; mov.u32 %r2, 1;',
      ...Array.from(
        { length: count },
        (_, i) =>
          `ld.global.u32 %r3, [%in+${4 * i}]; mad.lo.u32 %r2, %r2, %r3, %r1; ld.global.u32 %r4, [%d2+${4 * i}]; xor.b32 %r2, %r2, %r4; st.global.u32 [%d3+${4 * THREADS * i}], %r2;`,
      ),
    ].join('\n');
    const module = await loadCode(device, moduleText(entry({ parameters: ['u64 in', 'u64 out'], body })));
    const input = Uint32Array.from({ length: THREADS + count }, (_, i) => Math.imul(i + 3, 2654435761));
    const launch = (options: object) =>
      launchKernel(device, module, {
        block: THREADS,
        arguments: ['in', 'out'],
        buffers: { in: input, out: THREADS * count * 4 },
        options,
      });
    const wanted = new Uint32Array(THREADS * count);
    for (let thread = 0; thread < THREADS; thread++) {
      let value = 1;
      for (let i = 0; i < count; i++) {
        value = (Math.imul(value, input[i]!) + thread) ^ input[thread + i]!;
        wanted[THREADS * i + thread] = value;
      }
    }
    expect([...words((await launch({})).contents.out!)]).toEqual([...wanted]);
    const counted = await launch({ count: true });
    expect([...words(counted.contents.out!)]).toEqual([...wanted]);
    // Three warps, each with two loads and a store at a time.
    expect(counted.counters.globalLoadRequests).toBe(3 * 2 * count);
    expect(counted.counters.globalStoreRequests).toBe(3 * count);
    await device.unload(module);
  });
});
