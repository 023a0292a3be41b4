import { describe, expect, it } from 'vitest';
import { makeCandidate } from '../../../src/core/candidate.ts';
import { WHILE_TIMED } from '../../../src/core/evaluation.ts';
import type { Author, Task } from '../../../src/optimizer/authoring/author.ts';
import { type RecordedEvent, type RunEvent, UNLIMITED } from '../../../src/store/events.ts';
import { CUDA, fakeGpu } from '../fake-gpu.ts';
import { finding, kernel, nameOf, ofType, runLoop, scriptedAuthor, scriptedEvaluator, written } from '../fakes.ts';

const END = { kind: 'ended', reason: 'tokens-spent', detail: 'all of them' } as const;
const budgets = { ...UNLIMITED, maximumEvaluations: 40 };

/** Notes what an author is asked. */
function watched(author: Author): { author: Author; tasks: Task[] } {
  const tasks: Task[] = [];
  return {
    tasks,
    author: {
      ...author,
      ask(task) {
        tasks.push({ ...task, attempts: [...task.attempts] });
        return author.ask(task);
      },
    },
  };
}

describe('a written structure with parameters', () => {
  it('gets a small search of its own, so that one bad setting does not bury it', async () => {
    const evaluator = scriptedEvaluator((name) => ({
      ns: { 'b TILE=32': 1800, 'b TILE=64': 500 }[name] ?? 1000,
    }));
    const { author, tasks } = watched(scriptedAuthor(written('b', 2), END));
    const { events, result } = await runLoop({ evaluator, author, budgets });
    expect(evaluator.all.filter((name) => name.startsWith('b')).sort()).toEqual(
      ['b TILE=128', 'b TILE=16', 'b TILE=32', 'b TILE=64', 'b TILE=64'], // the last one confirms it
    );
    expect(ofType(events, 'move-proposed').map(({ move }) => move.kind)).toEqual([
      'written',
      ...Array(3).fill('configuration'),
    ]);
    expect(nameOf(result.best!.candidate)).toBe('b TILE=64');
    // The author is told what the best setting gave, once.
    expect(tasks[1]!.attempts).toMatchObject([{ judged: { ratioToParent: 2, isKept: true } }]);
    expect(nameOf(tasks[1]!.parent.candidate)).toBe('b TILE=64');
  });

  it('gets none if it is far slower than its parent, or wrong', async () => {
    const evaluator = scriptedEvaluator((name) =>
      name.startsWith('b') ? { ns: 3500 } : name.startsWith('c') ? { status: 'wrong' } : { ns: 1000 },
    );
    const { events } = await runLoop({ evaluator, author: scriptedAuthor(written('b'), written('c'), END), budgets });
    expect(ofType(events, 'move-proposed').map(({ move }) => move.kind)).toEqual(['written', 'written']);
  });

  it('gets at most a third of the evaluations that are left, and twelve', async () => {
    const values = Array.from({ length: 100 }, (_, index) => index + 1);
    const many = kernel('b', { parameters: { TILE: { values, default: 32 } } });
    const answer = { ...written('b'), candidate: makeCandidate({ ...many, sources: { 'kernel.cu': 'b();' } }, {}) };
    const searched = async (maximumEvaluations: number): Promise<number> => {
      // Every one is a little faster than the last.
      let ns = 1000;
      const evaluator = scriptedEvaluator(() => {
        ns *= 0.96;
        return { ns };
      });
      const author = scriptedAuthor(answer as never, END);
      const { events } = await runLoop({ evaluator, author, budgets: { ...UNLIMITED, maximumEvaluations } });
      return ofType(events, 'move-proposed').length - 1;
    };
    expect(await searched(100)).toBe(12);
    expect(await searched(16)).toBeLessThanOrEqual(5);
  });
});

describe('a written kernel with a condition on values that no check made true', () => {
  const oneWay = [
    { place: { file: 'kernel.cu', line: 3 }, text: 'if (h == 7) {', isOfValues: true, was: 'never-true' },
  ];
  const coverage = { drawnShapes: [], conditions: { count: 2, libraryDecisions: 0, oneWay } } as never;
  const evaluator = () => scriptedEvaluator((name) => ({ ns: name.startsWith('b') ? 500 : 1000, coverage }));

  it('is refused, and its author is told why', async () => {
    const { author, tasks } = watched(scriptedAuthor(written('b', 2), END));
    const { result } = await runLoop({ evaluator: evaluator(), author, budgets, unreached: 'refuse' });
    expect(nameOf(result.best!.candidate)).toBe('01_first TILE=32');
    expect(JSON.stringify(tasks[1]!.attempts)).toContain('kernel.cu:3 `if (h == 7) {` was never true');
  });

  it('is kept where such conditions are only named; kernels of the problem always are', async () => {
    const named = await runLoop({ evaluator: evaluator(), author: scriptedAuthor(written('b', 2), END), budgets });
    expect(nameOf(named.result.best!.candidate)).toContain('b TILE');
    const rungs = [kernel('01_first', { parameters: {} }), kernel('b', { parameters: {} })];
    const own = await runLoop({ evaluator: evaluator(), rungs, budgets, exploring: true, unreached: 'refuse' });
    expect(own.result.best!.candidate.kernel.file.name).toBe('b');
  });
});

describe('what an author is sent to', () => {
  it('is another finding, another parent, another mode, a fresh context, in this order', async () => {
    const findings = [finding('bank-conflicts'), finding('parallelism')];
    const evaluator = scriptedEvaluator((name) => ({ ns: name.startsWith('b') ? 990 : 1000, findings }));
    const refused = { kind: 'refused', code: 'no-answer', reason: 'prose' } as const;
    const { author, tasks } = watched(scriptedAuthor(written('b'), refused));
    const { events, result } = await runLoop({
      evaluator,
      author,
      budgets,
      rungs: [kernel('01_first', { parameters: {} })],
    });
    expect(ofType(events, 'author-redirected').map(({ step }) => step)).toEqual([
      'other-finding',
      'other-parent',
      'other-mode',
      'fresh-context',
      'stop',
    ]);
    expect(result.stopReason).toBe('author-stuck');
    const seen = tasks.map(({ finding: one, parent, mode, isFresh }) =>
      [one?.id, parent.candidate.kernel.file.name, mode, isFresh].join(' '),
    );
    expect([...new Set(seen)]).toEqual(
      [
        'bank-conflicts 01_first insight false',
        'bank-conflicts b insight false',
        'parallelism b insight false',
        'bank-conflicts 01_first insight false',
        'bank-conflicts 01_first full false',
        'bank-conflicts b full true',
      ].filter((one, index, all) => all.indexOf(one) === index),
    );
  });
});

describe('on a GPU', () => {
  it('a kernel is measured beside its parent, too, if that is not the best', async () => {
    const evaluator = fakeGpu({ ns: { '01_first TILE=32': 1000, 'b TILE=32': 900, 'c TILE=32': 950 } });
    const { events } = await runLoop({
      evaluator,
      device: CUDA,
      budgets: UNLIMITED,
      author: scriptedAuthor(written('b', 1.1), END),
    });
    const [first] = ofType(events, 'move-proposed');
    expect(first?.move).toMatchObject({ kind: 'written', predictedRatio: 1.1 });
    const against = evaluator.requests.map(({ against: beside }) => beside?.map(({ name }) => name));
    expect(against[1]).toEqual(['best']);
  });

  it('two kernels that are right when verified and wrong when timed end the turn', async () => {
    const evaluator = scriptedEvaluator((name) =>
      name.startsWith('01') ? { ns: 1000 } : { status: 'wrong', failedCheck: WHILE_TIMED },
    );
    const { result } = await runLoop({
      evaluator,
      author: scriptedAuthor(written('a'), written('b'), written('c')),
      budgets,
    });
    expect(result).toMatchObject({ stopReason: 'author-caught', evaluationsUsed: 3 });
  });
});

describe('an author that an earlier run caught', () => {
  const caughtBefore = (count: number) =>
    runLoop({
      evaluator: scriptedEvaluator((name) =>
        name.startsWith('01') ? { ns: 1000 } : { status: 'wrong', failedCheck: WHILE_TIMED },
      ),
      author: scriptedAuthor(written('a'), written('b'), written('c')),
      priors: { patterns: [], costs: [], caught: [{ author: 'scripted', count }] },
      budgets,
    });

  it('once has one kernel left', async () => {
    const { result } = await caughtBefore(1);
    expect(result).toMatchObject({ stopReason: 'author-caught', evaluationsUsed: 2 });
  });

  it('twice is asked nothing', async () => {
    const { result, events } = await caughtBefore(2);
    expect(result).toMatchObject({ stopReason: 'author-caught', evaluationsUsed: 1 });
    expect(ofType(events, 'author-asked')).toEqual([]);
  });
});

describe('a run with an author', () => {
  const options = () => ({
    evaluator: scriptedEvaluator((name) => ({ ns: name.startsWith('b') ? 500 : 1000 })),
    budgets,
    author: scriptedAuthor(written('b', 2), { kind: 'refused', code: 'no-answer', reason: 'prose' } as const, END),
  });

  it('goes on from any place of its log, and gives the same events', async () => {
    const { events } = await runLoop(options());
    const recorded = events.map(
      (event, index): RecordedEvent => ({ ...event, schemaVersion: 2, sequence: index + 1, time: '' }),
    );
    for (let length = 1; length < events.length; length++) {
      const { events: rest } = await runLoop({ ...options(), history: recorded.slice(0, length) });
      expect([...events.slice(0, length), ...rest].map(({ type }: RunEvent) => type)).toEqual(
        events.map(({ type }) => type),
      );
    }
  });

  it('refuses a log in which another answer came', async () => {
    const { events } = await runLoop(options());
    const recorded = events
      .slice(0, -1)
      .map((event, index): RecordedEvent => ({ ...event, schemaVersion: 2, sequence: index + 1, time: '' }));
    const place = recorded.findIndex(({ type }) => type === 'author-asked');
    recorded[place] = { ...recorded[place]!, reason: 'something else' } as RecordedEvent;
    await expect(runLoop({ ...options(), history: recorded })).rejects.toMatchObject({
      details: { code: 'history-differs', path: `event ${place + 1}` },
    });
  });

  it('gives kernels of one name names of their own', async () => {
    const again = (text: string) => ({
      ...written(text),
      candidate: makeCandidate({ ...kernel('01_first'), sources: { 'kernel.cu': `${text}();` } }, {}),
    });
    const { events } = await runLoop({
      ...options(),
      author: scriptedAuthor(again('b') as never, again('c') as never, END),
    });
    const names = ofType(events, 'move-proposed').flatMap(({ move }) => (move.kind === 'written' ? [move.kernel] : []));
    expect(names).toEqual(['01_first_v2', '01_first_v3']);
  });
});
