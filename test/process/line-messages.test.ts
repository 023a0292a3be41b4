import { expect, it } from 'vitest';
import { type LineMessage, MessageReader } from '../../src/process/line-messages.ts';

const line = (header: object): Buffer => Buffer.from(`${JSON.stringify(header)}\n`);
const bytes = (...all: number[]): Buffer => Buffer.from(all);

const stream = Buffer.concat([
  ...[line({ a: 1 }), line({ b: 2, payloadBytes: [3, 0, 2] }), bytes(10, 11, 12, 13, 14)],
  ...[line({ c: 3, payloadBytes: [1] }), bytes(0x0a), line({ d: 4 })],
]);
const wanted = [
  { keys: ['a'], payloads: [] },
  { keys: ['b', 'payloadBytes'], payloads: [[10, 11, 12], [], [13, 14]] },
  { keys: ['c', 'payloadBytes'], payloads: [[0x0a]] },
  { keys: ['d'], payloads: [] },
];

const shownOf = ({ header, payloads }: LineMessage): object => ({
  keys: Object.keys(header),
  payloads: payloads.map((one) => [...one]),
});

it('messages are the same however the stream is cut', () => {
  for (let size = 1; size <= stream.length; size++) {
    const reader = new MessageReader();
    const found: LineMessage[] = [];
    for (let at = 0; at < stream.length; at += size) found.push(...reader.push(stream.subarray(at, at + size)));
    expect(found.map(shownOf)).toEqual(wanted);
  }
});

it('a payload lies in memory of its own, so that numbers are read from it without a copy', () => {
  const [message] = [...new MessageReader().push(Buffer.concat([line({ payloadBytes: [8, 8] }), Buffer.alloc(16)]))];
  for (const { buffer, byteOffset, byteLength } of message!.payloads)
    expect([buffer.byteLength, byteOffset]).toEqual([byteLength, 0]);
});

it('a large payload lies in memory that threads share, so that none of them gets a copy', () => {
  const sizes = [2 ** 16 - 1, 2 ** 16];
  const bytes = Buffer.alloc(sizes[0]! + sizes[1]!, 7);
  const [message] = [...new MessageReader().push(Buffer.concat([line({ payloadBytes: sizes }), bytes]))];
  const [small, large] = message!.payloads as [Uint8Array, Uint8Array];
  expect([small.buffer instanceof SharedArrayBuffer, large.buffer instanceof SharedArrayBuffer]).toEqual([false, true]);
  expect(large.every((byte) => byte === 7)).toBe(true);
});

it('more bytes than are taken are refused when they are announced', () => {
  const reader = new MessageReader(10);
  expect(() => [...reader.push(line({ payloadBytes: [6, 5] }))]).toThrow('11 bytes announced');
  expect(() => [...new MessageReader().push(line({ payloadBytes: [-1] }))]).toThrow('payloadBytes are not sizes');
  expect(() => [...new MessageReader().push(Buffer.from('7\n'))]).toThrow('no JSON object');
});
