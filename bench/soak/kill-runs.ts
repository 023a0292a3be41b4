import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { readEventLog } from '../../src/store/event-log.ts';
import type { RecordedEvent } from '../../src/store/events.ts';
import { eventsPath, findRun } from '../../src/store/run-folder.ts';
import { journalKey } from './fake-session.ts';
import type { ChildRequest } from './killed-child.ts';

export const CHILD = fileURLToPath(new URL('killed-child.ts', import.meta.url));

export interface KilledRun {
  scenario: string;
  /** Kills that ended a process which was at work. */
  kills: number;
  /** Evaluations of the log, and evaluations begun by any of the processes. */
  evaluations: number;
  begun: number;
  /** What is not as if nothing had happened; empty when all is well. */
  problems: string[];
}

interface KillOptions {
  scenario: string;
  evaluations: number;
  pauseMs: number;
  /** Kills to make at most. */
  kills: number;
  /** In [0, 1). */
  random: () => number;
}

/** When a process is killed: so long after it has logged so many events. */
interface KillMoment {
  events: number;
  ms: number;
}

/** One in four is killed while it opens the run and replays its log; the others at work, within about an evaluation. */
function drawMoment(random: () => number, pauseMs: number): KillMoment {
  if (random() < 0.25) return { events: 0, ms: random() * OPENING_MS };
  return { events: 1 + Math.floor(random() * MOST_EVENTS), ms: random() * 1.5 * pauseMs };
}

/** About what opening and replaying takes. */
const OPENING_MS = 500;
/** A run of 40 evaluations logs about four times as many events. */
const MOST_EVENTS = 40;

/** Runs the child and kills it at that moment, if it gets there. Resolves to whether it was killed. */
function runChild(request: ChildRequest, moment?: KillMoment): Promise<boolean> {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(request)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  let timer: NodeJS.Timeout | undefined;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  let events = -1;
  child.stdout.setEncoding('utf8').on('data', (marks: string) => {
    events += marks.length;
    if (moment && events >= moment.events) timer ??= setTimeout(() => child.kill('SIGKILL'), moment.ms);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (signal === 'SIGKILL') resolve(true);
      else if (code === 0) resolve(false);
      else reject(new Error(`the run ended with ${signal ?? code}: ${stderr}`));
    });
  });
}

/** Fields that differ from one run to the next: times, and what is reckoned from them. */
const TIMES = ['time', 'minutesUsed', 'minutesLeft', 'ledger', 'elapsedMs'];

/** An event without what differs from one run to the next. */
export const withoutTimes = (event: RecordedEvent): unknown =>
  JSON.parse(JSON.stringify(event, (name, value: unknown) => (TIMES.includes(name) ? undefined : value)));

/** The log of a store's newest run. */
export const logOf = (store: string): RecordedEvent[] => readEventLog(eventsPath(findRun(store, 'latest'))).events;

const keysOf = (events: readonly RecordedEvent[]): string[] =>
  events.flatMap((event) =>
    event.type === 'evaluation-finished'
      ? [journalKey(event.evaluation.id, event.evaluation.candidate.id, event.evaluation.workload.name)]
      : [],
  );

function begunIn(journal: string): string[] {
  try {
    return readFileSync(journal, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('begin '))
      .map((line) => line.slice('begin '.length));
  } catch {
    return [];
  }
}

/** After a kill, all that was begun is in the log, but for the one evaluation in flight. */
function lostEvaluations(store: string, journal: string): string[] {
  const begun = new Set(begunIn(journal));
  const logged = new Set(keysOf(logOf(store)));
  const lost = [...begun].filter((key) => !logged.has(key));
  return lost.length > 1 ? [`${lost.length} evaluations were lost at once: ${lost.join(', ')}`] : [];
}

function differences(whole: readonly RecordedEvent[], resumed: readonly RecordedEvent[]): string[] {
  const index = whole.findIndex(
    (event, at) => !resumed[at] || !isDeepStrictEqual(withoutTimes(event), withoutTimes(resumed[at])),
  );
  if (index >= 0) return [`event ${index + 1} (${whole[index]!.type}) is not the uninterrupted run's`];
  return resumed.length > whole.length ? [`${resumed.length - whole.length} events more than uninterrupted`] : [];
}

const partialFiles = (store: string): string[] =>
  readdirSync(store, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.partial'));

/** Kills and resumes one run until it is finished, and compares it with the same run left alone. */
export async function killRun(options: KillOptions): Promise<KilledRun> {
  const { scenario, evaluations, pauseMs, random } = options;
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-kill-'));
  try {
    const request = (name: string): ChildRequest => ({
      store: join(folder, name),
      journal: join(folder, `${name}.journal`),
      scenario,
      evaluations,
      pauseMs,
    });
    const whole = { ...request('whole'), pauseMs: 0 };
    await runChild(whole);
    const killed = request('killed');
    const problems: string[] = [];
    let kills = 0;
    while (await runChild(killed, kills < options.kills ? drawMoment(random, pauseMs) : undefined)) {
      kills += 1;
      problems.push(...lostEvaluations(killed.store, killed.journal));
    }
    const log = logOf(killed.store);
    const keys = keysOf(log);
    const begun = begunIn(killed.journal);
    problems.push(...differences(logOf(whole.store), log));
    if (new Set(keys).size !== keys.length) problems.push('an evaluation is in the log twice');
    const never = keys.filter((key) => !begun.includes(key));
    if (never.length > 0) problems.push(`logged, but never begun: ${never.join(', ')}`);
    if (begun.length > keys.length + kills)
      problems.push(`${begun.length} evaluations begun for ${keys.length} logged`);
    problems.push(...partialFiles(killed.store).map((name) => `left behind: ${name}`));
    return { scenario, kills, evaluations: keys.length, begun: begun.length, problems };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
