import { resolve } from 'node:path';
import { DEFAULT_STORE } from '../core/requests/options.ts';
import type { RequestOf } from '../core/requests/request.ts';
import type { Timing } from '../core/timing.ts';
import { PATTERNS } from '../diagnosis/patterns/index.ts';
import type { PatternRecord, PatternsReport, PatternTally } from '../reports/documents/patterns.ts';
import { realised } from '../store/index/read-priors.ts';
import { type MoveWithRun, withRunIndex } from '../store/index/run-index.ts';

/** Every pattern with the expected and realised gains of its moves in the store's runs, including failed attempts. */
export function patternRecords({
  store = DEFAULT_STORE,
  problem,
  device,
  evidence = false,
}: RequestOf<'patterns'>): PatternsReport {
  const moves = withRunIndex(store, (index) => index.moves({ problem, device })).filter(
    ({ repeated }) => repeated === 0,
  );
  const known = PATTERNS.map(({ id, title, source, triggers }) => ({ id, title, source, triggers }));
  const others = [...new Set(moves.map(({ pattern }) => pattern))]
    .filter((id) => !known.some((pattern) => pattern.id === id))
    .sort()
    .map((id) => ({ id, title: null, source: null, triggers: [] }));
  return {
    schemaVersion: 1,
    kind: 'patterns',
    store: resolve(store),
    problem: problem ?? null,
    device: device ?? null,
    patterns: [...known, ...others].map((pattern) =>
      record(
        pattern,
        moves.filter((move) => move.pattern === pattern.id),
        evidence,
      ),
    ),
  };
}

const record = (
  pattern: Pick<PatternRecord, 'id' | 'title' | 'source' | 'triggers'>,
  moves: MoveWithRun[],
  evidence: boolean,
): PatternRecord => ({
  ...pattern,
  tallies: { measured: tally(moves, 'measured'), predicted: tally(moves, 'predicted') },
  moves: evidence ? moves : undefined,
});

function tally(moves: readonly MoveWithRun[], kind: Timing['kind']): PatternTally {
  const ofKind = moves.filter((move) => move.kind === kind);
  const { attempts, kept, realisedGain } = realised(ofKind);
  const expected = realised(ofKind.map(({ decision, expectedGain }) => ({ decision, ratio: expectedGain })));
  return {
    attempts,
    kept,
    realisedGain: kept === 0 ? null : realisedGain,
    expectedGain: kept === 0 ? null : expected.realisedGain,
  };
}
