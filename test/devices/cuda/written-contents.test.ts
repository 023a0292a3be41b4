import { expect, it } from 'vitest';
import type { CudaContext } from '../../../src/devices/cuda/worker/cuda-context.ts';
import type { CudaBuffer } from '../../../src/devices/cuda/worker/memory.ts';
import { WrittenContents } from '../../../src/devices/cuda/worker/written-contents.ts';

const MIB = 1024 ** 2;
const bufferOf = (bytes: number): CudaBuffer => ({ bytes }) as CudaBuffer;
/** A device on which every buffer holds this. */
const holding = (bytes: Uint8Array): CudaContext => ({ read: () => bytes }) as unknown as CudaContext;

it('contents are kept up to 128 MiB in all; what is written over or freed makes room', () => {
  const contents = new WrittenContents();
  const bytes = new Uint8Array(48 * MIB);
  const context = holding(bytes);
  const [first, second, third] = [1, 2, 3].map(() => contents.follow(bufferOf(bytes.length)));
  const known = () => [first, second, third].map((buffer) => contents.isHeld(context, buffer!));
  // Written twice, each counts once.
  for (const buffer of [first, first, second, second, third]) contents.note(buffer!, bytes);
  expect(known()).toEqual([true, true, undefined]);
  contents.note(first!, undefined);
  contents.note(third!, bytes);
  expect(known()).toEqual([undefined, true, true]);
  contents.forget(second!);
  contents.note(first!, bytes);
  expect(known()).toEqual([true, undefined, true]);
});

it('a small part of a message does not keep the whole message in memory', () => {
  const contents = new WrittenContents();
  const buffer = contents.follow(bufferOf(1000));
  const isHeldOnceMessageIsReused = (messageBytes: number): boolean | undefined => {
    const message = new Uint8Array(messageBytes).fill(1);
    contents.note(buffer, message.subarray(8, 1008));
    message.fill(2);
    return contents.isHeld(holding(new Uint8Array(1000).fill(1)), buffer);
  };
  expect(isHeldOnceMessageIsReused(3000)).toBe(true);
  // Most of a message is kept as it came.
  expect(isHeldOnceMessageIsReused(1100)).toBe(false);
  // A part of a message takes the room of the part.
  const many = Array.from({ length: 3 }, () => contents.follow(bufferOf(MIB)));
  const message = new Uint8Array(100 * MIB);
  for (const one of many) contents.note(one, message.subarray(0, MIB));
  expect(many.map((one) => contents.isHeld(holding(message.subarray(0, MIB)), one))).toEqual([true, true, true]);
});
