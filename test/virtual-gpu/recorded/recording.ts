import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { MeasuredWith } from '../../../scripts/results/measured-with.ts';
import type { DeviceFailure } from '../../../src/core/device-values.ts';
import { keyOf, type Part, type RecordedCase } from './recorded-case.ts';

/** What a device gave for a case, or why it gave nothing. */
export type RecordedBits =
  | {
      /** Of the case as it was then. */
      readonly key: string;
      /** The start of the SHA-256 of each part. */
      readonly sums: string;
      /** The first bytes of each part: deflated, base64. */
      readonly shown: string;
    }
  | { readonly key: string; readonly status: string; readonly message: string };

export interface InstructionRecording extends MeasuredWith {
  readonly schemaVersion: 1;
  readonly cases: Record<string, RecordedBits>;
}

const RECORDING = new URL('../../../docs/results/h200-instructions.json', import.meta.url);

/** Undefined while there is none. */
export function readRecording(): InstructionRecording | undefined {
  try {
    return JSON.parse(readFileSync(RECORDING, 'utf8')) as InstructionRecording;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const sumOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex').slice(0, 12);

const shownOf = ({ shownBytes = Number.POSITIVE_INFINITY }: RecordedCase, { bytes }: Part): number =>
  Math.min(bytes, shownBytes);

/** The parts of `out`, each with where its recorded bytes lie. */
function* partsOf(test: RecordedCase): Generator<{ part: Part; at: number; shownAt: number; shown: number }> {
  let [at, shownAt] = [0, 0];
  for (const part of test.parts) {
    const shown = shownOf(test, part);
    yield { part, at, shownAt, shown };
    at += part.bytes;
    shownAt += shown;
  }
}

/** What a recording keeps of an outcome. */
export function recordedBits(test: RecordedCase, outcome: { ok: true; out: Uint8Array } | DeviceFailure): RecordedBits {
  const key = keyOf(test);
  if (!outcome.ok) return { key, status: outcome.status, message: outcome.message };
  const { out } = outcome;
  const parts = [...partsOf(test)];
  return {
    key,
    sums: parts.map(({ part, at }) => sumOf(out.subarray(at, at + part.bytes))).join(' '),
    shown: deflateRawSync(Buffer.concat(parts.map(({ at, shown }) => out.subarray(at, at + shown))), {
      level: 9,
    }).toString('base64'),
  };
}

/** The recorded bytes of each part. */
export function shownParts(test: RecordedCase, shown: string): Uint8Array[] {
  const bytes = new Uint8Array(inflateRawSync(Buffer.from(shown, 'base64')));
  return [...partsOf(test)].map((place) => bytes.subarray(place.shownAt, place.shownAt + place.shown));
}

const wordsOf = (bytes: Uint8Array): string[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) =>
    view
      .getUint32(i * 4, true)
      .toString(16)
      .padStart(8, '0'),
  );
};

/** The parts whose bits are not those of the recording, with the first word that differs. */
export function differences(test: RecordedCase, recorded: { sums: string; shown: string }, out: Uint8Array): string[] {
  const sums = recorded.sums.split(' ');
  const shown = shownParts(test, recorded.shown);
  return [...partsOf(test)].flatMap(({ part, at }, index) => {
    const own = out.subarray(at, at + part.bytes);
    if (sumOf(own) === sums[index]) return [];
    const [got, wanted] = [wordsOf(own), wordsOf(shown[index]!)];
    const places = [...wanted.keys()].filter((i) => got[i] !== wanted[i]);
    const [first] = places;
    return first === undefined
      ? [`${part.name}: beyond the ${wanted.length} words that are recorded`]
      : [
          `${part.name}: word ${first} is ${got[first]}, recorded is ${wanted[first]}; ${places.length} of ${wanted.length} recorded words differ`,
        ];
  });
}
