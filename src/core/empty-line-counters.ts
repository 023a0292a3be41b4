import type { SourceLocation } from './compiled-code.ts';
import type { LineCounters } from './counters.ts';
import { rememberedAt } from './once-for.ts';

/** Counters of a line from which nothing was executed. */
export const emptyLineCounters = ({ file, line }: SourceLocation): LineCounters => ({
  location: { file, line },
  instructions: 0,
  threadInstructions: 0,
  globalLoadRequests: 0,
  globalLoadSectors: 0,
  globalStoreRequests: 0,
  globalStoreSectors: 0,
  sharedLoadRequests: 0,
  sharedLoadWavefronts: 0,
  sharedStoreRequests: 0,
  sharedStoreWavefronts: 0,
  bankConflicts: 0,
  barriers: 0,
  atomics: 0,
  divergentBranches: 0,
});

/** The counters of a line among those of others by place. */
export const lineCountersAt = (lines: Map<string, LineCounters>, location: SourceLocation): LineCounters =>
  rememberedAt(lines, `${location.file}:${location.line}`, () => emptyLineCounters(location));
