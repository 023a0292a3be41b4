import { describe, expect, it } from 'vitest';
import { LEAST_SAMPLE_NS, planRing } from '../../../src/evaluation/measure/plan-ring.ts';

const MIB = 2 ** 20;
const L2 = 50 * MIB;
const ring = (request: Partial<Parameters<typeof planRing>[0]>) =>
  planRing({ slotBytes: 2 * MIB, sequenceNs: 10_000, l2Bytes: L2, cache: 'cold', ...request });

describe('a ring', () => {
  it('that is cold is three times as large as L2, and longer where that is too quick', () => {
    expect(ring({})).toMatchObject({ cache: 'cold', slotCount: 75, sequencesPerReplay: 75, replaysPerSample: 1 });
    expect(ring({ sequenceNs: 1000 })).toMatchObject({ slotCount: 200, ringBytes: 400 * MIB });
  });

  it('that is hot takes half of L2 at most, and replays what is too quick', () => {
    expect(ring({ cache: 'hot', sequenceNs: 1000 })).toMatchObject({
      cache: 'hot',
      slotCount: 12,
      replaysPerSample: 17,
    });
  });

  it('of slots larger than the cache has one of them', () => {
    expect(ring({ slotBytes: 200 * MIB, sequenceNs: 1e6 })).toMatchObject({ cache: 'cold', slotCount: 1 });
    expect(ring({ slotBytes: 200 * MIB, sequenceNs: 1e6, cache: 'hot' })).toMatchObject({ slotCount: 1 });
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
});
