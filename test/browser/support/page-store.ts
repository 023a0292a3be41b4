import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { openContentStore } from '../../../src/store/content-store.ts';
import type { RecordedEvent } from '../../../src/store/events.ts';
import { eventsPath, RUN_FILES, runFolderPath } from '../../../src/store/run-folder.ts';
import { lockWriter, type WriterLock } from '../../../src/store/writer-lock.ts';

/**
 * Logs of two searches of softmax on a virtual L4, and the texts that they name by hash. `warpsmith optimize problems/softmax
 * --device virtual:l4 --workload R=256,N=1024` made them, with 12 evaluations, and with 8 and `--strategy tpe`.
 */
const FIXTURE = join(import.meta.dirname, '../../fixtures/page-runs.json.gz');

interface RecordedRuns {
  readonly logs: Readonly<Record<string, readonly RecordedEvent[]>>;
  readonly objects: Readonly<Record<string, string>>;
}

/** Runs of {@link fillStore}. */
export const RUNS = {
  finished: '2026-11-26T16-47-21-softmax-r256n1024',
  other: '2026-11-26T16-48-15-softmax-r256n1024',
  /** The beginning of the first, in its third turn. */
  running: '2026-11-26T16-49-30-softmax-r256n1024',
  /** The same without anybody who writes it. */
  died: '2026-11-26T16-49-02-softmax-r256n1024',
} as const;

/** Events up to where the third turn tries something. */
const THIRD_TURN = 16;

/** Fills a store with runs that are always the same, and writes one of them until the lock is released. */
export function fillStore(store: string): WriterLock {
  const { logs, objects } = JSON.parse(gunzipSync(readFileSync(FIXTURE)).toString('utf8')) as RecordedRuns;
  const write = (id: string, events: readonly RecordedEvent[]): void => {
    const folder = runFolderPath(store, id);
    mkdirSync(folder, { recursive: true });
    writeFileSync(eventsPath(folder), events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    const content = openContentStore(join(folder, RUN_FILES.objects));
    for (const text of Object.values(objects)) content.put(text);
  };
  for (const id of [RUNS.finished, RUNS.other]) write(id, logs[id]!);
  for (const id of [RUNS.died, RUNS.running]) write(id, logs[RUNS.finished]!.slice(0, THIRD_TURN));
  return lockWriter(runFolderPath(store, RUNS.running));
}
