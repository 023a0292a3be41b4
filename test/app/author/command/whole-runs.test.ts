import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type OptimizeOutcome, type OptimizeRequest, optimizeProblem } from '../../../../src/app/optimize.ts';
import { resumeRun } from '../../../../src/app/resume.ts';
import { show } from '../../../../src/app/runs.ts';
import { serveAgents } from '../../../../src/mcp/serve-agents.ts';
import { findAgentWall } from '../../../../src/process/agent-wall.ts';
import { showDocument } from '../../../../src/reports/documents/show.ts';
import { printMarkdown } from '../../../../src/reports/print/markdown.ts';
import { readEventLog } from '../../../../src/store/event-log.ts';
import { type EventType, ofType, type RecordedEvent } from '../../../../src/store/events.ts';
import { authorRun } from '../../../support/sampling/long-tests.ts';
import { smallRowSum } from '../../../support/small-row-sum.ts';

const AGENT = fileURLToPath(new URL('agent.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'warpsmith-agents-'));
const store = join(folder, 'store');
const problem = smallRowSum(folder);
const wall = await findAgentWall();

const KEY = 'key-of-an-agent-1234';
beforeAll(() => {
  vi.stubEnv('AGENT_TEST_KEY', KEY);
  // The same kernels are judged by every run of this file: what is tested is the loop around them.
  vi.stubEnv('WARPSMITH_REPEATS', 'on');
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const command = (...words: string[]): string => JSON.stringify([process.execPath, AGENT, ...words]);

/** Little is left for what follows the search. */
const FEW = { maximumEvaluations: 3 };

const request = (...words: string[]): OptimizeRequest => ({
  target: problem,
  device: 'virtual:l4',
  threads: 1,
  workloads: ['rows=64,columns=256'],
  seed: 1,
  store,
  maximumEvaluations: 8,
  ablation: false,
  author: [command(...words)],
  contain: 'never',
  agentEnvironment: ['AGENT_TEST_KEY'],
  serveAgents,
});

const eventsOf = ({ runFolder }: Pick<OptimizeOutcome, 'runFolder'>): readonly RecordedEvent[] =>
  readEventLog(join(runFolder, 'events.jsonl')).events;
const all = <T extends EventType>(outcome: Pick<OptimizeOutcome, 'runFolder'>, type: T) =>
  ofType(eventsOf(outcome), type);
const notesOf = ({ runFolder }: OptimizeOutcome, step = 1): string =>
  readFileSync(join(runFolder, 'steps', `${step}`, 'NOTES.md'), 'utf8');

/** What happened, without when and where. */
const happened = (events: readonly RecordedEvent[]): unknown[] => {
  const left = [
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
  return events.map((event) =>
    JSON.parse(JSON.stringify(event, (name, value) => (left.includes(name) ? undefined : value))),
  );
};

const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

describe('a coding agent that climbs', () => {
  let first: OptimizeOutcome;
  const runOf = () => first.runFolder.split('/').at(-1)!;
  beforeAll(async () => {
    const one = request('climbs');
    first = await optimizeProblem({ ...one, author: [...one.author!, command('reads')] });
  });

  it('is told of each kernel that it submits, and the best becomes the run’s', () => {
    const asked = all(first, 'author-asked');
    expect(asked.map(({ outcome, code }) => [outcome, code])).toEqual([
      ['refused', 'does-not-compile'],
      ['candidate', null],
      ['candidate', null],
    ]);
    expect(asked.every(({ tokensUsed, seconds }) => tokensUsed === 0 && seconds! >= 0)).toBe(true);
    expect(all(first, 'move-proposed').map(({ move }) => move.kind === 'written' && move.hypothesis)).toEqual([
      'one warp per row',
      'whole sectors',
    ]);
    expect(first.result.confirmation?.outcome).toBe('accepted');
    expect(first.view.best?.candidate.kernel).toMatch(/^warp_row/);
    const heard = JSON.parse(notesOf(first).split('\n')[1]!);
    expect(heard.checked).toBe(true);
    expect(heard.broken).toMatch(/failed: does-not-compile.*summ/s);
    expect(heard.wrong).toMatch(/ wrong/);
    expect(heard.right).toMatch(/passed\n/);
    expect(heard.right).toMatch(/prediction: hoped 3\.00×, got/);
    expect(heard.same).toBe(false);
    expect(heard.start).toMatch(/passed\n/);
    expect(heard.about).toContain('row-sum');
    expect(heard.brief).toBe(true);
  });

  it('leaves notes to the next session, which another command has, and keys to nobody', () => {
    expect(
      all(first, 'author-step-ended')
        .map(({ end, submissions }) => [end, submissions])
        .slice(0, 2),
    ).toEqual([
      ['exited', 3],
      ['exited', 0],
    ]);
    const [one, other] = all(first, 'author-step-began').map(({ author }) => author);
    expect(other).not.toBe(one);
    expect(notesOf(first, 2)).toMatch(/before: KEY=\[secret\]/);
    expect(notesOf(first, 2)).toMatch(/“whole sectors”, hoped 3\.00×; passed/);
    expect(readFileSync(join(first.runFolder, 'transcript.jsonl'), 'utf8')).not.toContain(KEY);
    // Nothing was submitted four times in a row.
    expect(first.result.stopReason).toBe('author-failed');
  });

  it('is reported and shown like a model', () => {
    const { authored } = first.view;
    expect(authored?.written.map(({ decision, status }) => [status, decision])).toEqual([
      ['wrong', 'revert'],
      ['passed', 'keep'],
    ]);
    const { evaluationId } = authored!.written[1]!;
    const text = printMarkdown(showDocument(show(store, `${runOf()}/${evaluationId}`)));
    expect(text).toMatch(/hypothesis: whole sectors/);
    expect(text).toMatch(/its tokens are not known/);
    expect(readFileSync(join(first.runFolder, 'report.md'), 'utf8')).toMatch(/step 1 ended: exited, exit code 0/);
  });

  it('runs again from its transcript without an agent, and gives the same events', async () => {
    const one = request('climbs');
    const again = await optimizeProblem({
      ...one,
      author: [...one.author!, command('reads')],
      serveAgents: undefined,
      transcript: join(first.runFolder, 'transcript.jsonl'),
    });
    expect(happened(eventsOf(again))).toEqual(happened(eventsOf(first)));
  });

  it('is resumed where the run was killed', async () => {
    const log = readFileSync(join(first.runFolder, 'events.jsonl'), 'utf8').trimEnd().split('\n');
    const place = log.findLastIndex((line) => line.includes('"type":"move-proposed"'));
    const killed = join(folder, 'killed');
    cpSync(first.runFolder, killed, { recursive: true });
    writeFileSync(join(killed, 'events.jsonl'), `${log.slice(0, place).join('\n')}\n`);
    const resumed = await resumeRun({ run: killed, store, serveAgents });
    expect(happened(eventsOf(resumed))).toEqual(happened(eventsOf(first)));
  });
});

describe('an agent that does not do its work', () => {
  it('is killed with its group at its share of time', async () => {
    const outcome = await optimizeProblem({ ...request('hangs'), ...FEW, stepMinutes: 0.01 });
    expect(outcome.result.stopReason).toBe('author-failed');
    expect(all(outcome, 'author-step-ended').map(({ end }) => end)).toEqual(Array(4).fill('time-spent'));
    expect(outcome.result.detail).toMatch(/nothing was submitted: time-spent/);
  });

  it('ends the run after four errors, and says what it said', async () => {
    const outcome = await optimizeProblem({ ...request('fails'), ...FEW });
    expect(outcome.result).toMatchObject({ stopReason: 'author-failed', detail: expect.stringMatching(/exit code 3/) });
    expect(readFileSync(join(outcome.runFolder, 'steps/1/output.txt'), 'utf8')).toContain('no credit left');
  });

  authorRun('is silent')('ends it after four sessions in which nothing was submitted', async () => {
    const outcome = await optimizeProblem({ ...request('silent'), ...FEW });
    expect(outcome.result.stopReason).toBe('author-failed');
    expect(all(outcome, 'author-step-began')).toHaveLength(4);
  });

  authorRun('leaves a process')('leaves no process behind that went to a group of its own', async () => {
    const outcome = await optimizeProblem({ ...request('forks'), ...FEW });
    const pid = Number(/child (\d+)/.exec(notesOf(outcome))?.[1]);
    expect(pid).toBeGreaterThan(0);
    expect(isAlive(pid)).toBe(false);
    expect(all(outcome, 'author-step-ended')[0]!.survivors).toBe(1);
  });
});

describe('an agent that does too much', () => {
  authorRun('writes much')('may write as much as it likes: only the last of it is kept', async () => {
    const outcome = await optimizeProblem({ ...request('floods'), maximumEvaluations: 4 });
    expect(outcome.view.best?.candidate.kernel).toMatch(/^warp_row/);
    expect(readFileSync(join(outcome.runFolder, 'steps/1/output.txt')).length).toBeLessThanOrEqual(64 * 1024);
  });

  authorRun('asks beyond its share')('gets no evaluation beyond its share, whatever it asks', async () => {
    const outcome = await optimizeProblem({ ...request('greedy'), stepEvaluations: 2, maximumEvaluations: 5 });
    const answers = JSON.parse(notesOf(outcome)) as [boolean, string][];
    expect(answers.slice(0, 2).every(([isError]) => !isError)).toBe(true);
    expect(answers.slice(2).map(([isError, text]) => [isError, /\[budget-spent\]/.test(text)])).toEqual([
      [true, true],
      [true, true],
    ]);
    expect(all(outcome, 'author-step-ended')[0]).toMatchObject({ submissions: 2 });
    expect(outcome.result.evaluationsUsed).toBeLessThanOrEqual(5);
  });

  authorRun('changes the problem')('can’t change what is right: the run ends with nothing of it', async () => {
    const target = join(folder, 'changed');
    cpSync('examples/row-sum', target, { recursive: true });
    const path = join(target, 'problem.json');
    const asked = { ...request('cheats', path), target };
    await expect(optimizeProblem({ ...asked, trust: true })).rejects.toMatchObject({
      details: { code: 'problem-changed', file: path },
    });
  });
});

describe('an agent in bubblewrap', () => {
  it.skipIf(wall === undefined)(
    'writes nowhere but in its folder, sees no GPU, and is judged all the same',
    async () => {
      const outside = join(folder, 'outside.txt');
      const problem = resolve('examples/row-sum/problem.json');
      const here = resolve('.');
      const outcome = await optimizeProblem({
        ...request('cheats', outside, problem, '/etc/warpsmith-test'),
        contain: 'always',
        agentReads: [join(here, 'node_modules'), AGENT],
        agentOffline: true,
      });
      expect(all(outcome, 'author-step-began')[0]).toMatchObject({ containment: 'bubblewrap', network: 'closed' });
      const done = JSON.parse(notesOf(outcome));
      expect(done[problem]).not.toBe('written');
      expect(done['/etc/warpsmith-test']).toBe('EROFS');
      expect(done['/dev/nvidia0']).toBe(false);
      expect(existsSync(outside)).toBe(false);
      expect(outcome.view.best?.candidate.kernel).toMatch(/^warp_row/);
    },
  );

  it.skipIf(wall === undefined)('takes what it forked with it', async () => {
    const agentReads = [join(resolve('.'), 'node_modules'), AGENT];
    const outcome = await optimizeProblem({ ...request('forks'), ...FEW, contain: 'always', agentReads });
    expect(all(outcome, 'author-step-ended')).toHaveLength(4);
  });

  it.runIf(wall === undefined)('is refused where there is none and it must be', async () => {
    await expect(optimizeProblem({ ...request('silent'), contain: 'always' })).rejects.toMatchObject({
      details: { code: 'not-contained' },
    });
  });
});

describe('options of agents', () => {
  it.each([
    ['a shell', { author: ['my-agent | tee log'] }, 'bad-command'],
    ['an open quote', { author: ["my-agent 'x"] }, 'bad-command'],
    ['a key', { author: ['my-agent --api-key=sk-abc'] }, 'key-in-command'],
    ['no such program', { author: ['no-such-agent-here'] }, 'no-agent'],
    ['two models', { author: ['model', 'model', 'true'] }, 'conflicting-options'],
    ['a model’s options', { model: 'anthropic:x' }, 'option-missing'],
    [
      'an agent’s options without one',
      { author: undefined, agentEnvironment: undefined, agentOffline: true },
      'option-missing',
    ],
  ])('%s', async (_what, rest, code) => {
    await expect(optimizeProblem({ ...request('silent'), ...rest })).rejects.toMatchObject({ details: { code } });
  });
});
