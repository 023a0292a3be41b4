import type { MeasuredWith } from './measured-with.ts';
import { HOW_TO_RECORD, type MeasuredRecordingName, type MeasuredRecordings } from './measuring-recordings.ts';

const absent = (name: MeasuredRecordingName): string =>
  `*Not recorded yet: docs/results/${name}.json is missing (\`${HOW_TO_RECORD[name]}\` on a machine with the GPU).*`;

/** The block, or that there is no recording to make it from. */
export const recordingBlock = <N extends MeasuredRecordingName>(
  recordings: MeasuredRecordings,
  name: N,
  make: (recording: NonNullable<MeasuredRecordings[N]>) => string,
): string => {
  const recording = recordings[name];
  return recording === undefined ? absent(name) : make(recording);
};

export const recordedWith = ({ device, driver, versions, recordedAt }: MeasuredWith): string =>
  `${device}, driver ${driver}, ${Object.entries(versions)
    .map((entry) => entry.join(' '))
    .join(', ')}, ${recordedAt.slice(0, 10)}`;

/** e.g. `3 wrong, 1 unsafe`: most first. */
export const countNames = (names: readonly string[]): string => {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
};

/** At most so many characters of a reason in a table; the recording has the whole. */
const REASON_LENGTH = 110;

/** The start of a reason, up to a word's end. */
export const shorten = (reason: string): string =>
  reason.length <= REASON_LENGTH ? reason : `${reason.slice(0, REASON_LENGTH).replace(/[\s,;:([]+\S*$/, '')} …`;
