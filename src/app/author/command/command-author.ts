import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WarpsmithError } from '../../../core/errors.ts';
import type { Candidate } from '../../../core/kernel.ts';
import { untilAborted } from '../../../core/until-aborted.ts';
import { type Author, type Came, NO_COST, type Step, type Task } from '../../../optimizer/authoring/author.ts';
import { type AgentEnd, type AgentProcess, startAgent } from '../../../process/agent-process.ts';
import type { AgentReach, AgentWall } from '../../../process/agent-wall.ts';
import { openTemporaryFolder } from '../../../process/temporary-folder.ts';
import type { AuthorMode, AuthorStepEnd, Priors } from '../../../store/events.ts';
import type { AgentLine } from '../../../store/transcript.ts';
import { writeFolder } from '../../../store/write-folder.ts';
import { changedFiles } from '../changed-files.ts';
import type { ProblemBrief } from '../describe-problem.ts';
import { kernelTexts } from '../kernel-texts.ts';
import { candidateForRun } from '../submission.ts';
import type { Turn } from '../turn.ts';
import type { Handed, RunTurn } from './run-turn.ts';
import { BRIEF_FILE, LONGEST_NOTES, MCP_FILE, NOTES_FILE, stepFiles } from './step-files.ts';

/** One command that writes kernels. */
export interface AgentCommand {
  /** For logs. */
  readonly name: string;
  /** Absolute path. */
  readonly program: string;
  readonly args: readonly string[];
}

/** Serves a turn at a socket until it is disposed of. */
export type ServeTurn = (turn: Turn, socket: string) => Promise<AsyncDisposable>;

export interface CommandAuthorParts {
  readonly commands: readonly AgentCommand[];
  readonly mode: AuthorMode;
  readonly turn: RunTurn;
  readonly problem: ProblemBrief;
  readonly priors: Priors;
  readonly share: { readonly evaluations: number; readonly minutes: number };
  readonly wall: AgentWall | undefined;
  readonly reach: Omit<AgentReach, 'folder' | 'readable'> & { readonly readable: readonly string[] };
  readonly environment: Readonly<Record<string, string>>;
  /** Values that are kept nowhere. */
  readonly secrets: readonly string[];
  readonly serve: ServeTurn;
  /** Compiles a candidate, and tries it where that costs nothing: what is wrong with it, or undefined. */
  readonly check: (candidate: Candidate) => Promise<{ readonly code: string; readonly reason: string } | undefined>;
  /** Throws if what decides about right and wrong is not what it was. */
  readonly requireUnchanged: () => void;
  /** What agents did in an earlier part of the run, or in one that is replayed. It comes first. */
  readonly recorded: readonly AgentLine[];
  /** Whether an agent is started when `recorded` is at its end. */
  readonly goesOn: boolean;
  readonly record: (line: AgentLine) => void;
  /** Keeps what an agent wrote to stdout and stderr last, and its notes. */
  readonly keep: (step: number, files: Readonly<Record<string, string>>) => void;
  readonly signal?: AbortSignal | undefined;
}

/** After its last evaluation an agent may still write its notes. */
const LAST_WORDS_MS = 60_000;
const MS_PER_MINUTE = 60_000;

/** A step that runs. */
interface Running {
  readonly number: number;
  readonly author: string;
  readonly agent: AgentProcess;
  readonly folder: string;
  readonly redirections: number;
  readonly beganMs: number;
  /** When the agent was last left to itself. */
  sinceMs: number;
  submissions: number;
  /** Ends the server and removes the folder. */
  readonly close: AsyncDisposableStack;
}

type Line<K extends AgentLine['agent']> = Extract<AgentLine, { agent: K }>;

/**
 * Coding agents as an author: one step is one process in a folder of its own. What it submits is handed to the loop, one kernel at a
 * time, and the loop's verdicts are what it is told. It stands for all commands of a run: they share lineage and notes.
 */
export class CommandAuthor implements Author, AsyncDisposable {
  readonly name: string;
  readonly mode: AuthorMode;
  readonly #parts: CommandAuthorParts;
  #running: Running | undefined;
  /** Who is or was at work last, also in a replay. */
  #author: string;
  #isAtWork = false;
  #recordedAt = 0;
  #steps = 0;
  #requests = 0;
  #notes = '';
  #release: (() => void) | undefined;

  constructor(parts: CommandAuthorParts) {
    this.#parts = parts;
    this.mode = parts.mode;
    this.name = parts.commands.map(({ name }) => name).join(', ');
    this.#author = parts.commands[0]!.name;
  }

  async ask(task: Task): Promise<Came | undefined> {
    const { recorded, goesOn, turn } = this.#parts;
    turn.keepStart(
      task.elites.find(({ candidate }) => candidate.id === turn.start.id) ?? task.parent,
      task.evaluationsUsed,
    );
    const known = recorded[this.#recordedAt];
    if (known) return this.#replay(known, task);
    if (!goesOn) return failed('the transcript has no further answers');
    if (this.#parts.signal?.aborted) return undefined;
    if (!this.#running) return this.#begin(task);
    if (task.redirections !== this.#running.redirections) return this.#end('redirected');
    return this.#next(task);
  }

  told(what: Parameters<NonNullable<Author['told']>>[0]): void {
    this.#parts.turn.note(what, what.by ?? this.#author);
  }

  /** Whether a step has begun and not ended. */
  get isAtWork(): boolean {
    return this.#isAtWork;
  }

  async rest(why: 'caught' | 'search-ended'): Promise<Step | undefined> {
    const known = this.#parts.recorded[this.#recordedAt];
    if (known?.agent === 'ended') return stepOf(this.#replay(known));
    return this.#running && stepOf(await this.#end(why));
  }

  /** Of all commands, in the order given. */
  get names(): readonly string[] {
    return this.#parts.commands.map(({ name }) => name);
  }

  /** Stops the agent where it is, if one is at work. */
  pause(): void {
    this.#running?.agent.pause();
  }

  resume(): void {
    this.#running?.agent.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running?.agent.end();
    await this.#running?.close.disposeAsync();
    this.#running = undefined;
  }

  /** The same as happened then. */
  #replay(line: AgentLine, task?: Task): Came {
    this.#recordedAt += 1;
    if (line.agent === 'submitted') return this.#answer(line, task!);
    this.#author = line.event.author;
    this.#isAtWork = line.agent === 'began';
    if (line.agent === 'began') {
      this.#steps = line.event.step;
      return { step: { kind: 'began', ...line.event } };
    }
    this.#notes = line.notes;
    return { step: { kind: 'ended', ...line.event } };
  }

  async #begin(task: Task): Promise<Came> {
    const { wall, reach, share, turn, mode, commands } = this.#parts;
    const command = commands.find(({ name }) => name === task.by) ?? commands[0]!;
    const evaluations = Math.min(share.evaluations, task.evaluationsLeft ?? share.evaluations);
    const minutes = Math.min(share.minutes, task.minutesLeft ?? share.minutes);
    this.#steps += 1;
    this.#author = command.name;
    const event: Line<'began'>['event'] = {
      step: this.#steps,
      author: command.name,
      parent: task.parent.candidate.id,
      finding: task.finding?.id ?? 'none',
      mode: task.mode ?? mode,
      containment: wall?.name ?? 'not contained',
      network: reach.hasNetwork ? 'open' : 'closed',
      evaluations,
      minutes,
      rungs: turn.showsRungs ? turn.rungs.map(({ file }) => file.name) : [],
    };
    this.#record({ agent: 'began', event });
    const nowMs = performance.now();
    turn.begin({
      lastEvaluation: task.evaluationsUsed + evaluations,
      endsAtMs: nowMs + minutes * MS_PER_MINUTE,
    });
    this.#running = await this.#start(command, task, { evaluations, minutes });
    this.#isAtWork = true;
    return { step: { kind: 'began', ...event } };
  }

  async #start(command: AgentCommand, task: Task, share: CommandAuthorParts['share']): Promise<Running> {
    const { turn, wall, reach, environment, serve, problem, priors } = this.#parts;
    await using stack = new AsyncDisposableStack();
    const { path } = stack.use(openTemporaryFolder());
    const [folder, door] = [join(path, 'work'), join(path, 'door')];
    const socket = join(door, 'mcp.sock');
    writeFolder(door, { README: 'The socket of the MCP server.\n' }, NEW_FOLDER);
    stack.use(await serve(turn, socket));
    const rungs = turn.showsRungs ? turn.rungs : [];
    const hasNetwork = reach.hasNetwork || wall === undefined;
    const files = stepFiles({
      ...{ folder, socket, problem, task, rungs, priors, share, hasNetwork },
      start: turn.start,
      notes: this.#notes,
    });
    writeFolder(folder, files, NEW_FOLDER);
    const brief = files[BRIEF_FILE]!;
    const fill = (word: string): string =>
      word.replaceAll(/\{(brief|folder|mcp)\}/g, (_all, name: 'brief' | 'folder' | 'mcp') =>
        name === 'brief' ? brief : name === 'folder' ? folder : join(folder, MCP_FILE),
      );
    const args = command.args.map(fill);
    const inside = wall?.around(command.program, args, {
      ...reach,
      folder,
      readable: [...reach.readable, command.program, process.execPath, door],
    }) ?? { command: command.program, args };
    const agent = startAgent({
      ...inside,
      cwd: folder,
      env: { ...environment, PWD: folder },
      stdin: brief,
      timeoutMs: share.minutes * MS_PER_MINUTE,
    });
    const nowMs = performance.now();
    return {
      number: this.#steps,
      author: command.name,
      agent,
      folder,
      redirections: task.redirections,
      beganMs: nowMs,
      sinceMs: nowMs,
      submissions: 0,
      close: stack.move(),
    };
  }

  /** The next thing that is submitted, or the end of the step. */
  async #next(task: Task): Promise<Came | undefined> {
    const { turn, signal } = this.#parts;
    const running = this.#running!;
    this.#release?.();
    this.#release = undefined;
    running.sinceMs = performance.now();
    const timer = new AbortController();
    try {
      for (;;) {
        const handed = turn.take();
        if (handed) {
          this.#release = await turn.occupy();
          return this.#answer(await this.#look(handed), task);
        }
        const spent = turn.isSpent ? [after(LAST_WORDS_MS, timer.signal)] : [];
        const coming = Promise.race([turn.arrival(), running.agent.ended, ...spent]);
        const what = await untilAborted(coming, signal);
        if (what === 'over') return await this.#end('evaluations-spent');
        // What was submitted just before the end still counts.
        if (what && !turn.hasWaiting) return await this.#end(ENDS[what.end], what);
      }
    } catch (error) {
      if (signal?.aborted) return undefined;
      throw error;
    } finally {
      timer.abort();
    }
  }

  /** Compiles what was submitted; it never comes back as it was handed in, but as its files give it. */
  async #look({ candidate, said }: Handed): Promise<Line<'submitted'>> {
    const { turn, check, requireUnchanged } = this.#parts;
    const running = this.#running!;
    requireUnchanged();
    const refused = await check(candidate);
    if (refused) turn.refuse(`${refused.code}: ${refused.reason}`);
    running.submissions += 1;
    const line: Line<'submitted'> = {
      agent: 'submitted',
      request: this.#requests + 1,
      author: running.author,
      ...said,
      files: kernelTexts(candidate.kernel),
      parameters: candidate.parameters,
      seconds: secondsSince(running.sinceMs),
      refused,
    };
    this.#record(line);
    return line;
  }

  #answer(line: Line<'submitted'>, task: Task): Came {
    const { turn } = this.#parts;
    const { author: by, hypothesis, predictedRatio, parent, refused, seconds } = line;
    this.#requests = line.request;
    this.#author = by;
    const { requests: _, ...nothing } = NO_COST;
    const asked = {
      request: line.request,
      purpose: task.repair && 'attempt' in task.repair ? ('repair' as const) : ('write' as const),
      ...nothing,
      tokensUsed: 0,
      moneyUsed: null,
      seconds,
    };
    if (refused) return { asked, by, answer: { kind: 'refused', ...refused, hypothesis } };
    const { files: texts, parameters } = line;
    const candidate = candidateForRun({ files: texts, parameters }, turn.problem);
    const files = changedFiles(task.parent.candidate, candidate);
    const made = parent === null ? {} : { parent };
    return {
      asked,
      by,
      answer: { kind: 'candidate', candidate, hypothesis, levers: [], predictedRatio, files, ...made },
    };
  }

  async #end(end: AuthorStepEnd, known?: AgentEnd): Promise<Came> {
    const { turn, keep, requireUnchanged, secrets } = this.#parts;
    const running = this.#running!;
    turn.end();
    const { detail, survivors, output } = known ?? (await running.agent.end());
    this.#running = undefined;
    this.#isAtWork = false;
    const redact = (text: string): string =>
      secrets.reduce((left, secret) => left.replaceAll(secret, '[secret]'), text);
    this.#notes = redact(notesIn(running.folder));
    await running.close.disposeAsync();
    keep(running.number, { 'output.txt': redact(output), [NOTES_FILE]: this.#notes });
    const event: Line<'ended'>['event'] = {
      step: running.number,
      author: running.author,
      end,
      detail,
      seconds: secondsSince(running.beganMs),
      submissions: running.submissions,
      survivors,
    };
    this.#record({ agent: 'ended', event, notes: this.#notes });
    requireUnchanged();
    return { step: { kind: 'ended', ...event } };
  }

  #record(line: AgentLine): void {
    this.#parts.record(line);
  }
}

const ENDS: Readonly<Record<AgentEnd['end'], AuthorStepEnd>> = {
  exited: 'exited',
  killed: 'killed',
  'not-started': 'not-started',
  'timed-out': 'time-spent',
  ended: 'killed',
};

const NEW_FOLDER = { option: '--author', earlier: (): readonly string[] => [] };

const failed = (detail: string): Came => ({ answer: { kind: 'ended', reason: 'author-failed', detail } });

const stepOf = (came: Came): Step | undefined => ('step' in came ? came.step : undefined);

const secondsSince = (ms: number): number => Math.round((performance.now() - ms) / 100) / 10;

function after(ms: number, signal: AbortSignal): Promise<'over'> {
  const { promise, resolve } = Promise.withResolvers<'over'>();
  const timer = setTimeout(() => resolve('over'), ms);
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  return promise;
}

/** A link or a device that an agent put in the place of its notes is not followed. */
function notesIn(folder: string): string {
  const path = join(folder, NOTES_FILE);
  try {
    if (!lstatSync(path).isFile()) return '';
    return readFileSync(path).subarray(0, LONGEST_NOTES).toString('utf8');
  } catch (error) {
    if (error instanceof WarpsmithError) throw error;
    return '';
  }
}
