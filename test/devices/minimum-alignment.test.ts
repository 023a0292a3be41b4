import { expect, it } from 'vitest';
import { DeviceMemory } from '../../src/virtual-gpu/runtime/device-memory.ts';

it('places a buffer at a multiple of its alignment, but not of twice that, when asked to', () => {
  const memory = new DeviceMemory();
  for (const alignmentBytes of [1, 2, 16, 32, 256, 1024]) {
    for (const bytes of [1, 100, 4096]) {
      const { offset } = memory.allocate({ name: 'x', bytes, alignmentBytes, minimumAlignment: true });
      expect(offset % alignmentBytes, `${alignmentBytes}`).toBe(0);
      expect((offset / alignmentBytes) % 2, `${alignmentBytes}`).toBe(1);
    }
  }
});

it('keeps such buffers apart from others, guard zones included', () => {
  const memory = new DeviceMemory();
  const buffers = Array.from({ length: 20 }, (_, i) =>
    memory.allocate({ name: `b${i}`, bytes: 37 * (i + 1), alignmentBytes: 16, minimumAlignment: i % 3 === 0 }),
  );
  for (const i of [3, 4, 9]) memory.free(buffers[i]!);
  const again = [64, 3].map((bytes) =>
    memory.allocate({ name: 'again', bytes, alignmentBytes: 16, minimumAlignment: true }),
  );
  const live = [...buffers.filter((_, i) => ![3, 4, 9].includes(i)), ...again];
  for (const [i, buffer] of live.entries()) memory.contents(buffer).fill(i);
  for (const [i, buffer] of live.entries()) {
    expect(new Set(memory.contents(buffer))).toEqual(new Set([i]));
    expect(memory.damagedGuardBytes(buffer)).toBe(0);
  }
});
