import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Evaluation } from '../../src/core/evaluation.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { openRecording, type RecordedEvaluation, readRecording } from '../../src/store/recording.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-recording-'));
  path = join(folder, 'below', 'run.jsonl.gz');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const session = {
  device: { id: 'cuda:0', kind: 'cuda', name: 'NVIDIA H200', uuid: 'GPU-1', driver: '580.1' } as const,
  spec: DEVICE_SPECS.get('h200')!,
  compiler: { name: 'nvrtc', version: '13.0' },
  environment: { warpsmith: '0.1.0' },
};
const now = () => new Date('2026-01-02T03:04:05Z');

const entry = (id: string): RecordedEvaluation => ({
  kind: 'evaluation',
  request: {
    problem: { name: 'scale', hash: 'p' },
    candidate: { id, kernel: '01', parameters: {} },
    workload: { dimensions: { N: 4 }, cache: 'hot' },
    seed: 1,
    tier: 'screen',
    blocks: null,
    against: [],
    libraryBaselines: [],
    profile: 'none',
    sanitize: false,
  },
  evaluation: { id, status: 'passed', reason: 'é ½ '.repeat(50) } as unknown as Evaluation,
});

const record = (...ids: string[]) => {
  const writer = openRecording(path, session, { now });
  for (const id of ids) writer.append(entry(id));
  return writer;
};

describe('a recording', () => {
  it('comes back as it was written, in order', () => {
    record('a', 'b').close();
    const { sessions, evaluations, tornLastEntry } = readRecording(path);
    expect(sessions).toEqual([{ kind: 'session', schemaVersion: 1, time: '2026-01-02T03:04:05.000Z', ...session }]);
    expect(evaluations).toEqual([entry('a'), entry('b')]);
    expect(tornLastEntry).toBe(false);
    expect(readdirSync(join(folder, 'below'))).toEqual(['run.jsonl.gz']);
  });

  it('is on disk after every entry, closed or not', () => {
    record('a', 'b');
    expect(readRecording(path).evaluations).toEqual([entry('a'), entry('b')]);
  });

  it('is packed when it is closed: entries that resemble each other take little more than one', () => {
    const writer = record(...Array.from({ length: 20 }, () => 'a'));
    const before = readFileSync(path);
    writer.close();
    writer.close();
    const after = readFileSync(path);
    expect(gunzipSync(after).equals(gunzipSync(before))).toBe(true);
    expect(after.length).toBeLessThan(before.length / 3);
    expect(() => writer.append(entry('b'))).toThrow('is closed');
  });

  it('keeps what was written before a crash, wherever the crash cut it off', () => {
    record('a', 'b');
    const whole = readFileSync(path);
    const counts = new Set<number>();
    const firstEnd = sessionBytes();
    for (let length = firstEnd; length < whole.length; length++) {
      writeFileSync(path, whole.subarray(0, length));
      const { evaluations, tornLastEntry } = readRecording(path);
      expect(evaluations).toEqual([entry('a'), entry('b')].slice(0, evaluations.length));
      counts.add(evaluations.length);
      if (tornLastEntry) expect(evaluations.length).toBeLessThan(2);
    }
    expect([...counts]).toEqual([0, 1, 2]);
  });

  it('goes on behind what a crash left', () => {
    record('a', 'b');
    writeFileSync(path, readFileSync(path).subarray(0, -30));
    const left = readRecording(path).evaluations.length;
    expect(left).toBe(1);
    record('c').close();
    const { sessions, evaluations } = readRecording(path);
    expect(sessions).toHaveLength(2);
    expect(evaluations.map(({ request }) => request.candidate.id)).toEqual(['a', 'c']);
  });

  it('is of one device', () => {
    record('a').close();
    const other = { ...session, device: { ...session.device, uuid: 'GPU-2' } };
    expect(() => openRecording(path, other)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ code: 'recording-of-another-device' }) }),
    );
  });

  const refused = (code: string) => expect.objectContaining({ details: expect.objectContaining({ code, file: path }) });

  it('is refused when it is missing, damaged, something else or newer', () => {
    expect(() => readRecording(path)).toThrow(refused('no-recording'));
    record('a').close();
    const lines = gunzipSync(readFileSync(path)).toString();
    for (const damaged of ['{}\n', 'text\n', 'null\n', lines.split('\n')[1]!, lines.replace('"request"', '"r"'), '']) {
      writeFileSync(path, gzipSync(damaged));
      expect(() => readRecording(path), damaged).toThrow(refused('damaged-recording'));
    }
    writeFileSync(path, lines);
    expect(() => readRecording(path)).toThrow(refused('damaged-recording'));
    writeFileSync(path, gzipSync(lines.replace('"schemaVersion":1', '"schemaVersion":2')));
    expect(() => readRecording(path)).toThrow(refused('newer-recording'));
  });

  it('is refused when a member in its middle was changed', () => {
    record('a', 'b').close();
    const bytes = readFileSync(path);
    bytes[bytes.length - 6] = bytes[bytes.length - 6]! ^ 0xff;
    writeFileSync(path, bytes);
    expect(() => readRecording(path)).toThrow(refused('damaged-recording'));
  });

  it('can be read by what reads gzip, also when something was appended', () => {
    record('a').close();
    appendFileSync(path, gzipSync(`${JSON.stringify(entry('b'))}\n`));
    expect(readRecording(path).evaluations).toHaveLength(2);
  });

  it('names the place that can not be written', () => {
    writeFileSync(join(folder, 'below'), '');
    expect(() => record('a')).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ code: 'store-not-a-folder' }) }),
    );
  });

  /** Bytes of the first entry alone. */
  function sessionBytes(): number {
    const first = join(folder, 'first.jsonl.gz');
    openRecording(first, session, { now });
    return readFileSync(first).length;
  }
});
