import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Adds a part to the recording of soak tests, in place of an earlier one of that name. */
export function saveSoak(path: string, part: Readonly<Record<string, object>>): void {
  const earlier = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as object) : {};
  const recording = { schemaVersion: 1, ...earlier, recordedAt: new Date().toISOString(), ...part };
  writeFileSync(path, `${JSON.stringify(recording, undefined, 1)}\n`);
}
