import { valueAtJsonPath } from '../core/json/json-path.ts';
import type { RunEvent } from './events.ts';

type Kind = 'text' | 'number' | 'object' | 'list';
type Shape = Readonly<Record<string, Kind>>;

const REFERENCE = (path: string): Shape => ({
  [`${path}.id`]: 'text',
  [`${path}.kernel`]: 'text',
  [`${path}.parameters`]: 'object',
});
const DEVICE = (path: string): Shape => ({
  [`${path}.id`]: 'text',
  [`${path}.kind`]: 'text',
  [`${path}.name`]: 'text',
});
const FINDING: Shape = { 'finding.id': 'text', 'pattern.id': 'text' };

/**
 * The fields that readers of a log rely on, by type of event. With this check, an edited or damaged log is refused by line
 * and field, and does not cause an error somewhere else. Later versions may add fields.
 */
const SHAPES: Readonly<Record<RunEvent['type'], Shape>> = {
  'run-started': {
    ...{ 'problem.name': 'text', 'problem.folder': 'text' },
    ...REFERENCE('start'),
    ...{ 'workload.name': 'text', 'workload.dimensions': 'object' },
    ...DEVICE('device'),
    ...{ seed: 'number', budgets: 'object', environment: 'object' },
  },
  'move-proposed': {
    ...{ iteration: 'number', moveKey: 'text', 'move.kind': 'text' },
    ...FINDING,
    ...REFERENCE('candidate'),
    ...{ expectedGain: 'number', confidence: 'number', reason: 'text' },
  },
  'evaluation-finished': {
    ...{ iteration: 'number', 'evaluation.id': 'text', 'evaluation.status': 'text', 'evaluation.findings': 'list' },
    ...REFERENCE('evaluation.candidate'),
    ...DEVICE('evaluation.device'),
    ...{ 'evaluation.workload.name': 'text', 'evaluation.workload.dimensions': 'object' },
    ...{ 'evaluation.elapsedMs.compile': 'number', 'evaluation.elapsedMs.verify': 'number' },
    ...{ 'evaluation.elapsedMs.time': 'number', 'evaluation.elapsedMs.total': 'number', sources: 'object' },
  },
  decision: { iteration: 'number', evaluationId: 'text', decision: 'text', reason: 'text' },
  confirmation: { evaluationId: 'text', ...REFERENCE('candidate'), outcome: 'text', reason: 'text' },
  'search-ended': { reason: 'text', detail: 'text' },
  'run-finished': { stopReason: 'text', detail: 'text' },
  budget: { evaluationsUsed: 'number', minutesUsed: 'number', ledger: 'object' },
  'budgets-extended': { budgets: 'object' },
  'move-abandoned': { moveKey: 'text', reason: 'text' },
  advice: { ...FINDING, text: 'text' },
  'author-asked': { request: 'number', author: 'text', outcome: 'text', reason: 'text', tokens: 'object' },
  'author-step-began': { step: 'number', author: 'text', containment: 'text' },
  'author-step-ended': { step: 'number', author: 'text', end: 'text', detail: 'text', seconds: 'number' },
  'arm-chosen': { arm: 'text', reason: 'text', arms: 'list' },
  'arm-closed': { arm: 'text', reason: 'text', detail: 'text' },
  'author-redirected': { signal: 'text', step: 'text', reason: 'text' },
  'options-ranked': { options: 'list' },
  ablation: { best: 'text', 'undone.kind': 'text', ...REFERENCE('candidate') },
  'workload-advice': { candidate: 'text', dimensions: 'list', rows: 'list', text: 'text' },
};

const HOLDS: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  list: Array.isArray,
};

/** The first field that does not have its required type, with that type; undefined if all have it. */
export function misshapen(event: unknown): { field: string; expected: string; received: string } | undefined {
  const received = (value: unknown) => JSON.stringify(value)?.slice(0, 80) ?? 'nothing';
  if (!HOLDS.object(event)) return { field: 'event', expected: 'an object', received: received(event) };
  const { type } = event as { type?: unknown };
  if (typeof type !== 'string' || !Object.hasOwn(SHAPES, type)) {
    return { field: 'type', expected: 'the type of an event', received: received(type) };
  }
  for (const [field, kind] of Object.entries(SHAPES[type as RunEvent['type']])) {
    const value = valueAtJsonPath(event, field.split('.'));
    if (!HOLDS[kind](value)) return { field, expected: kind, received: received(value) };
  }
  return undefined;
}
