import { describe, expect, it } from 'vitest';
import { WHILE_TIMED } from '../../../src/core/evaluation.ts';
import type { Author, Funds, SharedRun, Told } from '../../../src/optimizer/authoring/author.ts';
import type { OptimizeOptions } from '../../../src/optimizer/optimize.ts';
import { type RecordedEvent, type RunEvent, UNLIMITED } from '../../../src/store/events.ts';
import type { ArmChoice } from '../../../src/store/transcript.ts';
import {
  finding,
  kernel,
  nameOf,
  ofType,
  pattern,
  rung,
  runLoop,
  scriptedAuthor,
  scriptedEvaluator,
  tile,
  type Verdict,
  written,
} from '../fakes.ts';

const END = { kind: 'ended', reason: 'author-failed', detail: 'no more' } as const;
const budgets = { ...UNLIMITED, maximumEvaluations: 14 };
const rungs = [kernel('01_first'), kernel('02_second', { remedies: ['bank-conflicts'] })];
const patterns = [pattern('wider', 'bank-conflicts', [tile(64), rung('02_second')])];

const named = (name: string, author: Author): Author => ({ ...author, name });

interface Shared {
  readonly writers: readonly Author[];
  readonly choices?: ArmChoice[];
  readonly recorded?: readonly ArmChoice[];
  readonly isAlone?: boolean;
}

const sharedBy = ({ writers, choices = [], recorded = [], isAlone = false }: Shared): SharedRun => ({
  writers: writers.map((author) => ({ author, name: author.name })),
  isAlone,
  recorded,
  record: (choice) => void choices.push(choice),
});

const run = (
  shared: Shared,
  verdict: (name: string) => Verdict = () => ({ ns: 1000 }),
  options: Partial<OptimizeOptions> = {},
) => {
  const evaluator = scriptedEvaluator((name) => ({ findings: [finding('bank-conflicts')], ...verdict(name) }));
  return runLoop({ evaluator, rungs, patterns, budgets, exploring: true, shared: sharedBy(shared), ...options }).then(
    (outcome) => ({ ...outcome, evaluator }),
  );
};

const chosenIn = (events: readonly RunEvent[]): string[] => ofType(events, 'arm-chosen').map(({ arm }) => arm);
const recordOf = (events: readonly RunEvent[]): RecordedEvent[] =>
  events.map((event, index) => ({ ...event, schemaVersion: 2, sequence: index + 1, time: '' }) as RecordedEvent);

describe('a run that several share', () => {
  const two = () => [
    named('one', scriptedAuthor(written('a'), written('b'), written('c'), END)),
    named('two', scriptedAuthor(written('x'), written('y'), END)),
  ];
  const verdict = (name: string): Verdict => ({ ns: name.startsWith('a') ? 900 : name.startsWith('y') ? 700 : 1000 });

  it('asks each once, then whoever gains most for what it takes, and logs why', async () => {
    const { events, result } = await run({ writers: two() }, verdict);
    const chosen = ofType(events, 'arm-chosen');
    expect(chosen.slice(0, 4).map(({ arm }) => arm)).toEqual(['patterns', 'search', 'one', 'two']);
    expect(chosen[0]).toMatchObject({ reason: 'never asked so far', last: null });
    const later = chosen.find(({ arms }) => arms.every(({ value }) => value !== null))!;
    const most = Math.max(...later.arms.map(({ value }) => value!));
    expect(later.arms.find(({ arm }) => arm === later.arm)!.value).toBe(most);
    expect(later.reason).toMatch(/÷ .* % \+ .* = .*, the most/);
    // What the kernel that was kept gave counts for who wrote it.
    const afterOne = chosen[chosen.findIndex(({ arm }) => arm === 'one') + 1]!;
    expect(afterOne.last).toMatchObject({ arm: 'one', gain: Math.log(1000 / 900) });
    expect(afterOne.last!.used.evaluations).toBeGreaterThan(0);
    expect(result.stopReason).not.toBe('failed');
  });

  it('begins with what earlier runs say, and asks first whom they do not know', async () => {
    const used = { evaluations: 1, seconds: 1, gpuSeconds: 0, money: 0, tokens: 0, tokenMoney: 0 };
    const known = (arm: string, gain: number) => ({ arm, turns: 4, gain, used });
    const arms = [known('patterns', 0), known('search', 0.01), known('one', 0.3), known('nobody here', 0.6)];
    const choices: ArmChoice[] = [];
    const options = { priors: { patterns: [], costs: [], arms } };
    const { events } = await run({ writers: two(), choices }, verdict, options);
    expect(chosenIn(events).slice(0, 2)).toEqual(['two', 'one']);
    const [, second] = ofType(events, 'arm-chosen');
    expect(second!.reason).toMatch(/after 0 pulls and 4 of earlier runs$/);
    expect(second!.arms.map(({ arm, earlier }) => [arm, earlier])).toEqual([
      ['patterns', 4],
      ['search', 4],
      ['one', 4],
      ['two', undefined],
    ]);
    const history = recordOf(events).slice(0, Math.floor(events.length / 2));
    const { events: rest } = await run({ writers: two(), recorded: choices }, verdict, { ...options, history });
    expect([...events.slice(0, history.length), ...rest]).toEqual(events);
  });

  it('goes on from any place of its log, and gives the same events', async () => {
    const choices: ArmChoice[] = [];
    const { events } = await run({ writers: two(), choices }, verdict);
    for (let length = 1; length < events.length; length++) {
      const history = recordOf(events).slice(0, length);
      const { events: rest } = await run({ writers: two(), recorded: choices }, verdict, { history });
      expect([...events.slice(0, length), ...rest]).toEqual(events);
    }
  });

  it('chooses as its transcript says, whatever times say now', async () => {
    const choices: ArmChoice[] = [];
    const { events } = await run({ writers: two(), choices }, verdict);
    let nowMs = 0;
    const clockMs = (): number => {
      nowMs += 50_000 * (1 + Math.sin(nowMs));
      return nowMs;
    };
    const again = await run({ writers: two(), recorded: choices }, verdict, { clockMs });
    expect(chosenIn(again.events)).toEqual(chosenIn(events));
    expect(ofType(again.events, 'arm-chosen')).toEqual(ofType(events, 'arm-chosen'));
  });

  it('refuses the transcript of other authors', async () => {
    const recorded = [{ arm: 'three', reason: '', arms: [], last: null }];
    await expect(run({ writers: two(), recorded }, verdict)).rejects.toMatchObject({
      details: { code: 'other-authors', received: 'three', expected: 'patterns, search, one, two' },
    });
  });

  it('has nobody but the authors where it is asked for that', async () => {
    const { events } = await run({ writers: two(), isAlone: true }, verdict);
    expect(new Set(chosenIn(events))).toEqual(new Set(['one', 'two']));
    expect(ofType(events, 'options-ranked')).toEqual([]);
  });

  it('ends as the last author did when nobody is left, and says how each ended', async () => {
    const { result } = await run({ writers: two() }, verdict, { budgets: UNLIMITED });
    expect(result.stopReason).toBe('author-failed');
    expect(result.detail).toMatch(/patterns: .*search: all \d+ configurations.*one: no more; two: no more/s);
  });
});

describe('those who choose among kernels that there are', () => {
  const writer = () => [named('one', scriptedAuthor(written('a'), END))];

  it('try no rung that authors may not see', async () => {
    const { evaluator } = await run({ writers: writer() }, undefined, { budgets: UNLIMITED });
    expect(evaluator.all.filter((name) => name.startsWith('02'))).toEqual([]);
    expect(evaluator.all).toContain('01_first TILE=64');
    const shown = await run({ writers: writer() }, undefined, {
      budgets: UNLIMITED,
      request: { target: 'problems/scale', showRungs: true },
    });
    expect(shown.evaluator.all.some((name) => name.startsWith('02_second'))).toBe(true);
  });

  it('are asked again as soon as an author’s kernel is the best, and its settings get seeds that it could not know', async () => {
    const seeds = new Map<string, number | undefined>();
    const evaluator = scriptedEvaluator((name, { seed }) => {
      seeds.set(name, seed);
      return { ns: name.startsWith('a') ? 500 : 1000, findings: [finding('bank-conflicts')] };
    });
    const only = [pattern('wider', 'bank-conflicts', [tile(64)])];
    const { events } = await runLoop({
      ...{ evaluator, rungs, budgets, exploring: false, patterns: only },
      shared: sharedBy({ writers: [named('one', scriptedAuthor({ ...written('a') }, END))] }),
    });
    const settings = ofType(events, 'move-proposed').filter(({ move }) => move.kind === 'parameter');
    expect(settings[0]!.candidate.kernel).toBe('01_first');
    expect(ofType(events, 'arm-closed').filter(({ isForNow }) => isForNow).length).toBeGreaterThanOrEqual(1);
    const ofWritten = [...seeds].filter(([name]) => name.startsWith('a TILE'));
    expect(ofWritten.length).toBeGreaterThan(1);
    expect(ofWritten.every(([, seed]) => seed !== 1)).toBe(true);
    expect(new Set(ofWritten.map(([, seed]) => seed)).size).toBe(ofWritten.length);
  });
});

describe('authors of one run', () => {
  it('see what the others and the settings gave', async () => {
    const told: Told[] = [];
    const watcher: Author = { ...named('two', scriptedAuthor(END)), told: (what) => void told.push(what) };
    await run({ writers: [named('one', scriptedAuthor(written('a'), END)), watcher] });
    expect(new Set(told.map(({ by }) => by))).toEqual(new Set(['warpsmith: wider', 'warpsmith: bayesian', 'one']));
    expect(told.every(({ attempt }) => attempt?.judged !== undefined)).toBe(true);
  });

  it('are told that another had the same kernel before', async () => {
    const writers = [named('one', scriptedAuthor(written('a'), END)), named('two', scriptedAuthor(written('a'), END))];
    const { events } = await run({ writers });
    const asked = ofType(events, 'author-asked').filter(({ author }) => author === 'two');
    expect(asked[0]).toMatchObject({ outcome: 'refused', code: 'near-duplicate' });
  });

  it('that are caught propose no more; the others go on', async () => {
    const writers = [
      named('liar', scriptedAuthor(written('x'), written('y'), written('z'))),
      named('honest', scriptedAuthor(written('a'), written('b'), written('c'), END)),
    ];
    const verdict = (name: string): Verdict =>
      /^[xyz]/.test(name) ? { status: 'wrong', failedCheck: WHILE_TIMED } : { ns: 1000 };
    const { events } = await run({ writers, isAlone: true }, verdict);
    const closed = ofType(events, 'arm-closed').find(({ arm }) => arm === 'liar');
    expect(closed).toMatchObject({ reason: 'author-caught', isForNow: false });
    const place = events.indexOf(closed!);
    expect(chosenIn(events.slice(place))).not.toContain('liar');
    expect(chosenIn(events.slice(place))).toContain('honest');
  });
});

describe('an author whose tokens are spent', () => {
  /** One kernel for each thousand tokens. */
  function spender(limit: number): Author {
    let used = 0;
    const funds = (): Funds => ({ tokensUsed: used, moneyUsed: 0, tokensLeft: limit - used, moneyLeft: null });
    const script = scriptedAuthor(...'abcdefg'.split('').map((text) => written(text)));
    return {
      ...named('model', script),
      funds,
      ask(task) {
        if (used + 1000 > limit) {
          return Promise.resolve({ answer: { kind: 'ended', reason: 'tokens-spent', detail: 'all used' } });
        }
        used += 1000;
        return script.ask(task);
      },
    };
  }

  it('is asked again when the run is resumed with more', async () => {
    const choices: ArmChoice[] = [];
    const first = await run({ writers: [spender(2000)], choices }, undefined, { budgets });
    expect(ofType(first.events, 'arm-closed').map(({ reason }) => reason)).toContain('tokens-spent');
    const end = first.events.findIndex(({ type }) => type === 'search-ended');
    const history = recordOf(first.events).slice(0, end);
    const larger = { ...budgets, maximumEvaluations: 30, allowance: null };
    const recorded = [...choices];
    const resumed = await run({ writers: [spender(5000)], recorded, choices }, undefined, {
      ...{ history, extendedBudgets: larger },
    });
    const asked = [...history, ...resumed.events].filter(({ type }) => type === 'author-asked');
    expect(asked).toHaveLength(5);
    // A log of both parts is followed to its end.
    const both = [
      ...history.map(({ schemaVersion: _v, sequence: _s, time: _t, ...event }) => event as RunEvent),
      ...resumed.events,
    ];
    const again = await run({ writers: [spender(5000)], recorded: choices }, undefined, {
      history: recordOf(both.slice(0, -1)),
    });
    expect(again.events.map(({ type }) => type)).toEqual(['run-finished']);
  });
});

describe('names of candidates', () => {
  it('tell settings of both kinds apart', async () => {
    const { result, evaluator } = await run({ writers: [named('one', scriptedAuthor(written('a'), END))] });
    expect(nameOf(result.best!.candidate)).toMatch(/TILE=/);
    const search = evaluator.judged;
    expect(new Set(search).size).toBe(search.length);
  });
});
