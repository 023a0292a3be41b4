import fc from 'fast-check';
import { expect, it } from 'vitest';
import { placeArena } from '../../../src/devices/cuda/worker/arena.ts';
import { GUARD_BYTES } from '../../../src/devices/cuda/worker/memory.ts';

const request = fc.record({
  bytes: fc.integer({ min: 1, max: 100_000 }),
  alignmentBytes: fc.constantFrom(1, 16, 256, 1024),
});
const BASE = 0x7f00_0000_0000n;

it('buffers lie aligned inside the arena, apart by guard zones, and gaps cover all the rest', () => {
  fc.assert(
    fc.property(fc.array(request, { minLength: 1, maxLength: 30 }), fc.integer(), (sizes, seed) => {
      const requests = sizes.map((size, i) => ({ ...size, name: `b${i}` }));
      const { bytes, place } = placeArena(requests, seed);
      const { buffers, gaps } = place(BASE);
      expect(buffers.map(({ name }) => name)).toEqual(requests.map(({ name }) => name));
      for (const [i, { address }] of buffers.entries())
        expect(address % BigInt(Math.max(256, requests[i]!.alignmentBytes))).toBe(0n);
      const pieces = [...buffers, ...gaps].map((piece) => ({
        start: piece.address,
        end: piece.address + BigInt(piece.bytes),
      }));
      pieces.sort((a, b) => (a.start < b.start ? -1 : 1));
      expect(pieces[0]!.start).toBe(BASE);
      expect(pieces.at(-1)!.end).toBe(BASE + BigInt(bytes));
      // Whole pages of the driver: behind the last guarded byte a kernel reaches nothing.
      expect(bytes % 2 ** 21).toBe(0);
      for (let i = 1; i < pieces.length; i++) expect(pieces[i]!.start).toBe(pieces[i - 1]!.end);
      for (const gap of gaps) expect(gap.bytes).toBeGreaterThanOrEqual(GUARD_BYTES);
    }),
  );
});

it('the same seed gives the same places, other seeds other starts, orders and gaps', () => {
  const requests = Array.from({ length: 20 }, (_, i) => ({ name: `b${i}`, bytes: 4096, alignmentBytes: 16 }));
  const placesOf = (seed: number) =>
    placeArena(requests, seed)
      .place(BASE)
      .buffers.map(({ address }) => address);
  expect(placesOf(7)).toEqual(placesOf(7));
  const orders = [1, 2, 3, 4].map((seed) => {
    const places = placesOf(seed);
    return [...places.keys()].sort((a, b) => (places[a]! < places[b]! ? -1 : 1)).join();
  });
  expect(new Set(orders).size).toBe(4);
  expect(new Set([1, 2, 3, 4].map((seed) => placesOf(seed).reduce((a, b) => (a < b ? a : b)))).size).toBe(4);
});
