import type { RunRow } from '../store/index/rows.ts';

/** `died`: its log has no end, and nobody writes it: `warpsmith resume` goes on with it. */
export type RunState = 'finished' | 'running' | 'died' | 'unreadable';

/** A run in the list of a store's runs. */
export interface ListedRun extends RunRow {
  state: RunState;
  folder: string;
}

/** What `warpsmith runs --json` prints. */
export interface RunsReport {
  schemaVersion: 1;
  kind: 'runs';
  store: string;
  /** Newest first. */
  runs: ListedRun[];
}

/** What became of a run. */
export function runState({ error, stopReason }: RunRow, isBeingWritten: boolean): RunState {
  if (isBeingWritten) return 'running';
  if (error !== null) return 'unreadable';
  return stopReason === null ? 'died' : 'finished';
}
