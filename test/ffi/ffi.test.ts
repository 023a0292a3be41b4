import { expect, it } from 'vitest';
import { NativeMemory, textAt, textOf, viewMemory } from '../../src/ffi/native-memory.ts';
import { openLibrary, openProcessLibrary } from '../../src/ffi/open-library.ts';
import { structLayout } from '../../src/ffi/struct-layout.ts';

const libc = openProcessLibrary();

it('calls functions with numbers, 64-bit values, bytes and text', () => {
  expect(libc.function('abs', 'i32', ['i32'])(-7)).toBe(7);
  expect(libc.function('llabs', 'u64', ['u64'])(2n ** 62n)).toBe(2n ** 62n);
  expect(libc.function('strlen', 'u64', ['text'])('four')).toBe(4n);
  const bytes = new Uint8Array(8);
  libc.function('memset', 'address', ['bytes', 'i32', 'u64'])(bytes, 7, 5);
  expect([...bytes]).toEqual([7, 7, 7, 7, 7, 0, 0, 0]);
});

it('memory stays where it is, aligned, and native code sees it', () => {
  const memset = libc.function('memset', 'address', ['address', 'i32', 'u64']);
  const blocks = Array.from({ length: 50 }, (_, i) => new NativeMemory(8 + i, 128));
  for (const [i, block] of blocks.entries()) {
    expect(block.address % 128n).toBe(0n);
    memset(block.address, i, block.bytes.length);
  }
  for (const [i, block] of blocks.entries()) expect(new Set(block.bytes)).toEqual(new Set([i]));
  const own = new NativeMemory(16);
  own.bytes.set(new TextEncoder().encode('hello'));
  expect(textAt(own.address)).toBe('hello');
  expect(textOf(own.bytes)).toBe('hello');
  expect([...viewMemory(own.address, 2)]).toEqual([104, 101]);
  own.view.setBigUint64(8, 2n ** 63n, true);
  expect(own.pointer(8)).toBe(2n ** 63n);
});

it('lays structures out as C does', () => {
  const layout = structLayout('mixed', 24, { a: 'u32', b: 'address', c: 3 });
  expect(layout.offsets).toEqual({ a: 0, b: 8, c: 16 });
  expect(() => structLayout('mixed', 20, { a: 'u32', b: 'address', c: 3 })).toThrow('mixed has 24 bytes here, not 20');
});

it('a library that is missing: what was searched, and the hint', () => {
  const open = () =>
    openLibrary({ what: 'the gizmo', names: ['libgizmo.so.1', '/none/gizmo.so'], hint: 'Install it.' });
  expect(open).toThrow(/the gizmo.*libgizmo\.so\.1.*\/none\/gizmo\.so/);
  expect(open).toThrow(expect.objectContaining({ details: expect.objectContaining({ code: 'missing-library' }) }));
});

it('a function that is missing: its name, or nothing where it is optional', () => {
  expect(() => libc.function('gizmo_of_tomorrow', 'i32', [])).toThrow(/gizmo_of_tomorrow/);
  expect(libc.optionalFunction('gizmo_of_tomorrow', 'i32', [])).toBeUndefined();
});
