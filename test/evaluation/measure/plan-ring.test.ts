import { describe, expect, it } from 'vitest';
import { LEAST_SAMPLE_NS, planRing, planRings, ringOfBlock } from '../../../src/evaluation/measure/plan-ring.ts';

const MIB = 2 ** 20;
const L2 = 50 * MIB;
const ring = (request: Partial<Parameters<typeof planRing>[0]>) =>
  planRing({ slotBytes: 2 * MIB, sequenceNs: 10_000, l2Bytes: L2, cache: 'cold', ...request });

describe('a ring', () => {
  it('that is cold is three times as large as L2, and longer where that is too quick', () => {
    expect(ring({})).toMatchObject({ cache: 'cold', fewestSlotCount: 75, slotCount: 94, replaysPerSample: 1 });
    expect(ring({ sequenceNs: 1000 })).toMatchObject({ fewestSlotCount: 200, slotCount: 250, ringBytes: 500 * MIB });
  });

  it('that is hot takes half of L2 at most, and replays what is too quick', () => {
    expect(ring({ cache: 'hot', sequenceNs: 1000 })).toMatchObject({
      cache: 'hot',
      fewestSlotCount: 10,
      slotCount: 12,
      replaysPerSample: 20,
    });
  });

  it('of slots larger than the cache has one of them', () => {
    expect(ring({ slotBytes: 200 * MIB, sequenceNs: 1e6 })).toMatchObject({ cache: 'cold', slotCount: 1 });
    expect(ring({ slotBytes: 200 * MIB, sequenceNs: 1e6, cache: 'hot' })).toMatchObject({ slotCount: 1 });
  });

  it('has its inputs read again where it should be hot and the cache is too small', () => {
    const { rereadsInputs } = ring({ slotBytes: 200 * MIB, cache: 'hot' });
    expect(rereadsInputs).toBe(true);
    expect(ring({ slotBytes: 20 * MIB, cache: 'hot' }).rereadsInputs).toBe(false);
    expect(ring({ slotBytes: 200 * MIB }).rereadsInputs).toBe(false);
    const subjects = [
      { slotBytes: 40 * MIB, sequenceNs: 1e6 },
      { slotBytes: 20 * MIB, sequenceNs: 1e6 },
    ];
    expect(planRings(subjects, { l2Bytes: L2, cache: 'hot' }).map((one) => one.rereadsInputs)).toEqual([true, true]);
  });

  it('does not grow with workspaces that are never touched', () => {
    const { slotCount, ringBytes, replaysPerSample } = ring({ slotBytes: 1024 * MIB, sequenceNs: 2000 });
    expect(ringBytes).toBeLessThanOrEqual(2048 * MIB);
    expect(slotCount * replaysPerSample * 2000).toBeGreaterThanOrEqual(LEAST_SAMPLE_NS);
  });

  it('of slots too small to fill the cache is not called cold', () => {
    const tiny = ring({ slotBytes: 64 });
    expect(tiny.cache).toBe('hot');
    expect(tiny.ringBytes).toBeLessThan(L2);
    expect(ring({ slotBytes: 0 })).toMatchObject({ cache: 'hot', slotCount: 16_384 });
  });

  it('has a number of slots in every block that nobody can know, so that no launch knows whether it is the last', () => {
    const plan = ring({ cache: 'hot', slotBytes: 1000, sequenceNs: 10_000 });
    expect(plan).toMatchObject({ fewestSlotCount: 20, slotCount: 25 });
    const counts = [0, 0.2, 0.5, 0.999].map((share) => ringOfBlock(plan, share));
    expect(counts.map(({ slotCount }) => slotCount)).toEqual([20, 21, 23, 25]);
    expect(counts[0]).toMatchObject({ sequencesPerReplay: 20, ringBytes: 20_000 });
  });
});

describe('the rings of contenders that are compared', () => {
  const rings = (cache: 'hot' | 'cold', ...sequenceNs: number[]) =>
    planRings(
      sequenceNs.map((ns) => ({ slotBytes: MIB, sequenceNs: ns })),
      { l2Bytes: L2, cache },
    );

  it('have the same number of slots when hot, however slow one of them seems', () => {
    expect(rings('hot', 400_000, 10_000).map(({ slotCount }) => slotCount)).toEqual([25, 25]);
  });

  it('have fewer slots for who would take very long', () => {
    expect(rings('hot', 2e6, 10_000).map(({ slotCount }) => slotCount)).toEqual([1, 25]);
  });

  it('are as large as L2 asks for when cold', () => {
    expect(rings('cold', 400_000, 10_000).map(({ fewestSlotCount }) => fewestSlotCount)).toEqual([150, 150]);
  });
});
