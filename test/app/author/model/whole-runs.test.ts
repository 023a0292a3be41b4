import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type OptimizeOutcome, optimizeProblem } from '../../../../src/app/optimize.ts';
import { resumeRun } from '../../../../src/app/resume.ts';
import { show } from '../../../../src/app/runs.ts';
import { showDocument } from '../../../../src/reports/documents/show.ts';
import { printMarkdown } from '../../../../src/reports/print/markdown.ts';
import { readEventLog } from '../../../../src/store/event-log.ts';
import type { RecordedEvent } from '../../../../src/store/events.ts';
import { type FakeModel, fakeModel, type Reply } from '../../../support/fake-model.ts';
import { authorRun } from '../../../support/sampling/long-tests.ts';
import { smallRowSum } from '../../../support/small-row-sum.ts';
import { answer, edit, file, KEY } from './runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'warpsmith-model-'));
const store = join(folder, 'store');
const problem = smallRowSum(folder);

/** One warp for a row; its limits keep drawn shapes small. */
const JSON_TEXT = JSON.stringify({
  schemaVersion: 1,
  name: 'warp_row',
  description: 'One warp sums one row.',
  source: { kind: 'cuda', files: ['kernel.cu'] },
  limits: ['rows <= 128', 'columns <= 300'],
  parameters: { WARPS: { values: [2, 4], default: 4 } },
  steps: [
    {
      function: 'row_sum',
      grid: ['ceilDiv(rows, WARPS)'],
      block: ['32 * WARPS'],
      arguments: [
        { buffer: 'x' },
        { buffer: 'y' },
        { scalar: 'rows', dtype: 'i32' },
        { scalar: 'columns', dtype: 'i32' },
      ],
    },
  ],
});
const WARP = readFileSync('examples/row-sum/02_warp_per_row/kernel.cu', 'utf8');
const SCRIPT: readonly Reply[] = [
  { text: answer({ parts: edit('y[row] = sum;', 'y[row] = summ;') }) },
  {
    text: answer({
      parts: `${file(WARP)}\n${file(JSON_TEXT, 'kernel.json')}`,
      hypothesis: 'whole sectors',
      ratio: '3',
    }),
  },
  { status: 401, body: `{"error":{"message":"no more for ${KEY}"}}` },
];

const request = (url: string) => ({
  target: problem,
  device: 'virtual:l4',
  threads: 1,
  workloads: ['rows=64,columns=32'],
  seed: 3,
  store,
  maximumEvaluations: 8,
  ablation: false,
  author: ['model'],
  model: 'openai-compatible:fake',
  endpoint: url,
  price: '1,4',
});

/** What happened, without when, and without what names the transcript. */
const happened = (events: readonly RecordedEvent[]) =>
  events.map((event) => {
    const { time, sequence, ...rest } = event;
    const text = JSON.stringify(rest, (name, value) =>
      [
        'elapsedMs',
        'repeated',
        'minutesUsed',
        'minutesLeft',
        'ledger',
        'request',
        'environment',
        'repository',
        'target',
      ].includes(name) && typeof value !== 'number'
        ? undefined
        : ['minutesUsed', 'minutesLeft'].includes(name)
          ? undefined
          : value,
    );
    return JSON.parse(text);
  });

const eventsOf = ({ runFolder }: Pick<OptimizeOutcome, 'runFolder'>) =>
  readEventLog(join(runFolder, 'events.jsonl')).events;

let fake: FakeModel;
let first: OptimizeOutcome;
beforeAll(async () => {
  vi.stubEnv('WARPSMITH_MODEL_KEY', KEY);
  // The same kernels are judged by every run of this file: what is tested is the loop around them.
  vi.stubEnv('WARPSMITH_REPEATS', 'on');
  fake = await fakeModel(SCRIPT);
  first = await optimizeProblem(request(fake.url));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await fake[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

describe('a run whose kernels a model writes', () => {
  it('keeps what it wrote, and says in its log who hoped what and what it cost', () => {
    const events = eventsOf(first);
    const asked = events.filter((event) => event.type === 'author-asked');
    expect(asked.map(({ outcome, code }) => [outcome, code])).toEqual([
      ['refused', 'does-not-compile'],
      ['candidate', null],
      ['failed', 'refused-request'],
    ]);
    expect(asked[0]!.reason).toMatch(/summ/);
    expect(asked[1]!.moneyUsed).toBeGreaterThan(0.002);
    expect(first.result).toMatchObject({ stopReason: 'author-failed', confirmation: { outcome: 'accepted' } });
    expect(first.view.best?.candidate.kernel).toBe('warp_row');
    expect(readFileSync(join(first.runFolder, 'best/kernel.cu'), 'utf8')).toContain('__shfl_xor_sync');
  });

  it('is shown and reported with hypothesis, hope, outcome, cost and diff', () => {
    const shown = show(store, `${first.runFolder.split('/').at(-1)}/e2`);
    const text = printMarkdown(showDocument(shown));
    expect(text).toMatch(/hypothesis: whole sectors/);
    expect(text).toMatch(/prediction: hoped 3\.00×, got \d+\.\d+×: (short|better) by/);
    expect(text).toMatch(/1,000 tokens|tokens sent/);
    expect(text).toContain('+  const int lane = threadIdx.x % 32;');
    const report = readFileSync(join(first.runFolder, 'report.md'), 'utf8');
    expect(report).toContain('What the author wrote');
    expect(report).toMatch(/does-not-compile, request 1/);
    // The story of an attempt, and what was made from what.
    expect(report).toMatch(/warp\\?_row, from 01\\?_thread\\?_per\\?_row: \d+\.\d+× the speed of/);
    expect(report).toMatch(/prediction: hoped 3\.00×, got \d+\.\d+×: (short|better) by/);
    expect(report).toMatch(/cost: .* tokens sent/);
    expect(report).toMatch(/01_thread_per_row 1\.00×, start\n {2}warp_row \d+\.\d+×, best/);
    expect(report).toContain('Best so far, by what was spent');
    const html = readFileSync(join(first.runFolder, 'report.html'), 'utf8');
    for (const id of ['lineage', 'best-by-time', 'best-by-money']) expect(html).toContain(`id="${id}-wide-title"`);
    expect(first.view.authored).toMatchObject({
      author: 'openai-compatible:fake',
      requests: 3,
      written: [{ evaluationId: 'e2', parent: '01_thread_per_row', predictedRatio: 3, decision: 'keep' }],
    });
    expect(first.view.ledger.lines.map(({ name }) => name)).toContain('money for tokens');
  });

  it('sends the key in a header and nowhere else, and keeps it nowhere', () => {
    expect(fake.sent[0]!.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(JSON.stringify(fake.sent.map(({ body, path }) => ({ body, path })))).not.toContain(KEY);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
    const holders = files.filter((path) => statSync(path).isFile() && readFileSync(path, 'latin1').includes(KEY));
    expect(files.length).toBeGreaterThan(8);
    expect(holders).toEqual([]);
  });

  it('runs again from its transcript without a model or a key, and gives the same events', async () => {
    delete process.env.WARPSMITH_MODEL_KEY;
    const count = fake.sent.length;
    const { endpoint, model, ...options } = request(fake.url);
    const again = await optimizeProblem({ ...options, transcript: join(first.runFolder, 'transcript.jsonl') });
    process.env.WARPSMITH_MODEL_KEY = KEY;
    expect(happened(eventsOf(again))).toEqual(happened(eventsOf(first)));
    expect(fake.sent).toHaveLength(count);
  });

  it('is resumed where it was killed, and asks nothing that was answered', async () => {
    const log = readFileSync(join(first.runFolder, 'events.jsonl'), 'utf8').trimEnd().split('\n');
    const place = log.findIndex((line) => line.includes('"type":"move-proposed"'));
    const killed = join(folder, 'killed');
    cpSync(first.runFolder, killed, { recursive: true });
    writeFileSync(join(killed, 'events.jsonl'), `${log.slice(0, place).join('\n')}\n`);
    const count = fake.sent.length;
    const resumed = await resumeRun({ run: killed, store });
    expect(happened(eventsOf(resumed))).toEqual(happened(eventsOf(first)));
    expect(fake.sent).toHaveLength(count);
  });
});

describe('a run whose tokens are spent', () => {
  authorRun('has spent its tokens')('sends nothing more, and goes on with a larger budget where it was', async () => {
    await using model = await fakeModel([SCRIPT[1]!, { text: 'Enough.' }]);
    // Room for one request: a second one would be about as large.
    const { runFolder, result } = await optimizeProblem({ ...request(model.url), maximumTokens: 9000 });
    expect(result.stopReason).toBe('tokens-spent');
    const sent = model.sent.length;
    const run = runFolder.split('/').at(-1)!;
    await expect(resumeRun({ run, store, maximumTokens: 9000 })).rejects.toMatchObject({
      details: { code: 'budget-not-larger', path: '--max-tokens' },
    });
    const resumed = await resumeRun({ run, store, maximumTokens: 20_000 });
    expect(model.sent.length).toBeGreaterThan(sent);
    expect(['tokens-spent', 'author-stuck']).toContain(resumed.result.stopReason);
    const asked = eventsOf({ runFolder }).filter((event) => event.type === 'author-asked');
    expect(asked.map((event) => event.request)).toEqual(asked.map((_, index) => index + 1));
    expect(asked.at(-1)!.tokensUsed).toBeLessThanOrEqual(20_000);
  });
});

describe('with no model configured', () => {
  authorRun('has no model')(
    'the loop is the offline one, whatever the environment holds: nothing is asked, logged or written of a model',
    async () => {
      const sent = fake.sent.length;
      const { target, device, threads, workloads } = request(fake.url);
      const run = () => optimizeProblem({ target, device, threads, workloads, store, seed: 5, maximumEvaluations: 3 });
      const withKey = await run();
      delete process.env.WARPSMITH_MODEL_KEY;
      const without = await run();
      process.env.WARPSMITH_MODEL_KEY = KEY;
      const [one, other] = [withKey, without].map(eventsOf);
      // What earlier runs of the store tell differs from run to run.
      const kinds = (events: readonly RecordedEvent[]) => events.map(({ type }) => type);
      expect(kinds(one!)).toEqual(kinds(other!));
      expect(kinds(one!).filter((type) => type.startsWith('author'))).toEqual([]);
      const [started] = one!;
      expect(Object.keys(started?.type === 'run-started' ? started.request : {}).sort()).toEqual(
        ['ablation', 'diagnosis', 'exploring', 'problemFiles', 'target', 'threads'].sort(),
      );
      expect(readdirSync(withKey.runFolder)).not.toContain('transcript.jsonl');
      expect(withKey.view.authored).toBeUndefined();
      expect(fake.sent).toHaveLength(sent);
    },
  );
});

describe('options of an author', () => {
  const refused = (rest: object) => optimizeProblem({ ...request('http://127.0.0.1:9/v1'), ...rest });
  it.each([
    ['no model', { model: undefined }, 'option-missing', '--model'],
    ['a model without author', { author: undefined }, 'option-missing', '--author'],
    ['a limit of cost without a price', { price: undefined, maximumCost: 1 }, 'option-missing', '--price'],
    ['a price that is none', { price: 'cheap' }, 'bad-price', '--price'],
    ['a strategy', { strategy: 'random' }, 'conflicting-options', '--strategy'],
    ['a dispatch table', { objective: 'per-workload' }, 'conflicting-options', '--objective'],
    ['a recording without transcript', { replay: 'x.jsonl.gz', device: 'recorded' }, 'option-missing', '--transcript'],
    ['an unknown protocol', { model: 'gpt:x' }, 'unknown-model', '--model'],
    ['an endpoint in the clear', { endpoint: 'http://example.com/v1' }, 'bad-endpoint', '--endpoint'],
    ['a key in the address', { endpoint: `https://user:${KEY}@example.com/v1` }, 'bad-endpoint', '--endpoint'],
    ['no endpoint', { endpoint: undefined }, 'no-endpoint', '--endpoint'],
    ['no key', { model: 'anthropic:x', endpoint: undefined }, 'no-model-key', 'ANTHROPIC_API_KEY'],
    ['a transcript that is not there', { transcript: 'no/such.jsonl' }, 'no-transcript', undefined],
  ])('%s', async (_what, rest, code, path) => {
    const known = process.env.ANTHROPIC_API_KEY;
    delete process.env.ANTHROPIC_API_KEY;
    const runs = readdirSync(join(store, 'runs'));
    const error = await refused(rest).catch((thrown: unknown) => thrown);
    if (known !== undefined) process.env.ANTHROPIC_API_KEY = known;
    expect(error).toMatchObject({ details: { code, ...(path && { path }) } });
    expect(JSON.stringify(error)).not.toContain(KEY);
    expect(readdirSync(join(store, 'runs'))).toEqual(runs);
  });
});
