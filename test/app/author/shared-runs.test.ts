import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type OptimizeOutcome, type OptimizeRequest, optimizeProblem } from '../../../src/app/optimize.ts';
import { resumeRun } from '../../../src/app/resume.ts';
import { show } from '../../../src/app/runs.ts';
import { serveAgents } from '../../../src/mcp/serve-agents.ts';
import { showDocument } from '../../../src/reports/documents/show.ts';
import { printMarkdown } from '../../../src/reports/print/markdown.ts';
import { readEventLog } from '../../../src/store/event-log.ts';
import { type EventType, ofType, type RecordedEvent } from '../../../src/store/events.ts';
import { type FakeModel, fakeModel } from '../../support/fake-model.ts';
import { smallRowSum } from '../../support/small-row-sum.ts';
import { answer, edit } from './model/runs.ts';

const AGENT = fileURLToPath(new URL('command/agent.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'warpsmith-shared-'));
const store = join(folder, 'store');
const problem = smallRowSum(folder);

const request = (url: string): OptimizeRequest => ({
  target: problem,
  device: 'virtual:l4',
  threads: 1,
  workloads: ['rows=64,columns=256'],
  seed: 1,
  store,
  maximumEvaluations: 12,
  ablation: false,
  author: ['model', JSON.stringify([process.execPath, AGENT, 'climbs'])],
  model: 'openai-compatible:fake',
  endpoint: url,
  price: '1,4',
  contain: 'never',
  serveAgents,
});

const eventsOf = ({ runFolder }: Pick<OptimizeOutcome, 'runFolder'>): readonly RecordedEvent[] =>
  readEventLog(join(runFolder, 'events.jsonl')).events;
const all = <T extends EventType>(outcome: Pick<OptimizeOutcome, 'runFolder'>, type: T) =>
  ofType(eventsOf(outcome), type);

const LEFT = [
  'time',
  'sequence',
  'elapsedMs',
  'minutesUsed',
  'minutesLeft',
  'ledger',
  'request',
  'environment',
  'repository',
  'repeated',
];
/** What happened, without when and where. */
const happened = (events: readonly RecordedEvent[]): unknown[] =>
  events.map((event) => JSON.parse(JSON.stringify(event, (name, value) => (LEFT.includes(name) ? undefined : value))));

let fake: FakeModel;
let first: OptimizeOutcome;
beforeAll(async () => {
  vi.stubEnv('WARPSMITH_MODEL_KEY', 'sk-shared-123456');
  // The same kernels are judged by every run of this file: what is tested is the loop around them.
  vi.stubEnv('WARPSMITH_REPEATS', 'on');
  fake = await fakeModel([
    { text: answer({ parts: edit('float sum = 0.0f;', 'float sum = 0.0f; sum += 0.0f;'), hypothesis: 'it warms up' }) },
    { status: 401, body: '{"error":{"message":"no more"}}' },
  ]);
  first = await optimizeProblem(request(fake.url));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await fake[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

describe('a run that a model, an agent and settings share', () => {
  it('asks each of them, and says in its log who and why', () => {
    const arms = all(first, 'arm-chosen').map(({ arm }) => arm);
    const [patterns, search, model, agent] = arms;
    expect([patterns, search, model]).toEqual(['patterns', 'search', 'openai-compatible:fake']);
    expect(agent).toMatch(/^command: /);
    expect(new Set(all(first, 'author-asked').map(({ author }) => author))).toEqual(new Set([model, agent]));
    expect(first.view.best?.candidate.kernel).toMatch(/^warp_row/);
    // The start has no parameters, and other rungs are hidden from authors.
    expect(all(first, 'arm-closed').map(({ arm, reason }) => [arm, reason])).toContainEqual([
      'search',
      'space-exhausted',
    ]);
    expect(eventsOf(first).filter((event) => JSON.stringify(event).includes('"02_warp_per_row"'))).toEqual([]);
  });

  it('reports what each gave and took, and shows why it was asked', () => {
    const report = readFileSync(join(first.runFolder, 'report.md'), 'utf8');
    expect(report).toContain('Who proposed');
    const { rows } = first.view.authored!.arms!;
    const [agent] = rows.filter(({ arm }) => arm.startsWith('command'));
    expect(agent).toMatchObject({ kept: 1, tokens: 0, money: null });
    expect(agent!.gain).toBeGreaterThan(1.5);
    const model = rows.find(({ arm }) => arm === 'openai-compatible:fake')!;
    expect(model).toMatchObject({ evaluations: 1, kept: 0, gain: 1 });
    expect(model.tokens).toBeGreaterThan(0);
    expect(model.money).toBeGreaterThan(0);
    const kept = all(first, 'decision').find(
      ({ decision, comparedWith }) => decision === 'keep' && comparedWith !== null,
    )!;
    const text = printMarkdown(showDocument(show(store, `${first.runFolder.split('/').at(-1)}/${kept.evaluationId}`)));
    expect(text).toMatch(/iteration \d+.*command: node agent\.mjs climbs: never asked so far; /);
  });

  it('keeps every choice in its transcript', () => {
    const lines = readFileSync(join(first.runFolder, 'transcript.jsonl'), 'utf8').split('\n');
    expect(lines.filter((line) => line.includes('"choice"'))).toHaveLength(all(first, 'arm-chosen').length);
  });

  it('runs again from its transcript without model and agent, and gives the same events', async () => {
    const again = await optimizeProblem({
      ...request(fake.url),
      serveAgents: undefined,
      transcript: join(first.runFolder, 'transcript.jsonl'),
    });
    expect(happened(eventsOf(again))).toEqual(happened(eventsOf(first)));
  });

  it.each(['arm-chosen', 'move-proposed', 'author-step-began'])(
    'is resumed where it was killed, before the last %s',
    async (type) => {
      const log = readFileSync(join(first.runFolder, 'events.jsonl'), 'utf8').trimEnd().split('\n');
      const place = log.findLastIndex((line) => line.includes(`"type":"${type}"`));
      const killed = join(folder, `killed-${type}`);
      cpSync(first.runFolder, killed, { recursive: true });
      writeFileSync(join(killed, 'events.jsonl'), `${log.slice(0, place).join('\n')}\n`);
      const resumed = await resumeRun({ run: killed, store, serveAgents });
      expect(happened(eventsOf(resumed))).toEqual(happened(eventsOf(first)));
    },
  );
});
