import { setTimeout as sleep } from 'node:timers/promises';
import { WarpsmithError } from '../../../core/errors.ts';
import type { Candidate } from '../../../core/kernel.ts';
import type { Problem } from '../../../core/problem.ts';
import { isPassing, type Message, type ModelAnswer, type ModelEndpoint } from '../../../models/model-endpoint.ts';
import type { Answer, AskedRequest, Author, Task } from '../../../optimizer/authoring/author.ts';
import { errorText } from '../../../reports/feedback.ts';
import type { AuthorMode, Priors } from '../../../store/events.ts';
import type { Exchange } from '../../../store/transcript.ts';
import { changedFiles } from '../changed-files.ts';
import { candidateForRun } from '../submission.ts';
import { parseAnswer } from './parse-answer.ts';
import { refusalText, systemText, taskText, verdictText } from './prompt.ts';
import type { Spending } from './spending.ts';

export interface ModelAuthorParts {
  readonly endpoint: ModelEndpoint;
  readonly mode: AuthorMode;
  readonly problem: Problem;
  /** What is to be computed, in words. */
  readonly problemText: string;
  readonly priors: Priors;
  readonly spending: Spending;
  /** Compiles a candidate, and tries it where that costs nothing: what is wrong with it, or undefined. */
  readonly check: (candidate: Candidate) => Promise<{ readonly code: string; readonly reason: string } | undefined>;
  /** Answers of an earlier part of the run, or of a transcript that is replayed. They come first. */
  readonly recorded: readonly Exchange[];
  /** Whether the model is asked when `recorded` is at its end. */
  readonly goesOn: boolean;
  /** Keeps a new exchange. */
  readonly record: (exchange: Exchange) => void;
  readonly signal?: AbortSignal | undefined;
  /** Waits before a request that follows a failure. */
  readonly wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** Waits after the first, second and third failure in a row, unless the endpoint says how long. */
const WAITS_MS = [2_000, 10_000, 30_000] as const;
/** An endpoint that wants more is not waited for any longer. */
const LONGEST_WAIT_MS = 120_000;

interface State {
  /** Of the kernel at hand, the system's text first. */
  messages: Message[];
  /** What edits apply to. */
  base: Candidate | undefined;
  last: string;
  requests: number;
  /** Failures in a row, and how long the endpoint asked to wait after the last. */
  failures: number;
  retryAfterMs: number | undefined;
  /** The user interrupted before the answer had come. */
  isCutOff: boolean;
  /** The endpoint will not answer whatever is asked. */
  isDead: string | undefined;
}

/** A model as an author. It sees what a task shows, and its answers are read as any author's submissions are. */
export function createModelAuthor(parts: ModelAuthorParts): Author {
  const { endpoint, mode } = parts;
  const system: Message = { role: 'system', text: systemText(parts.problemText), isStable: true };
  const state: State = {
    messages: [],
    base: undefined,
    last: '',
    requests: 0,
    failures: 0,
    retryAfterMs: undefined,
    isCutOff: false,
    isDead: undefined,
  };
  return {
    name: endpoint.name,
    mode,
    funds: () => parts.spending.funds(),
    async ask(task) {
      if (state.isDead !== undefined)
        return { answer: { kind: 'ended', reason: 'author-failed', detail: state.isDead } };
      const messages = messagesFor(task, { state, system, parts });
      // What was answered already is not sent again.
      const isKnown = parts.recorded[state.requests] !== undefined;
      const room = isKnown ? { maximumOutputTokens: 0 } : parts.spending.room(messages);
      if ('reason' in room) return { answer: { kind: 'ended', ...room } };
      const request = { messages, maximumOutputTokens: room.maximumOutputTokens };
      const answered = await nextAnswer(request, state, parts);
      if (answered === 'interrupted') return undefined;
      if (answered === 'no-more') {
        return { answer: { kind: 'ended', reason: 'author-failed', detail: 'the transcript has no further answers' } };
      }
      state.messages = messages;
      const asked = askedOf(answered, task, state, parts.spending);
      return { asked, answer: await readAnswer(answered, task, state, parts) };
    },
  };
}

interface Surroundings {
  readonly state: State;
  readonly system: Message;
  readonly parts: ModelAuthorParts;
}

/** A new kernel begins a new conversation; a repair goes on with the last one. What had no answer is asked again. */
function messagesFor(task: Task, { state, system, parts }: Surroundings): Message[] {
  if (state.failures > 0 || state.isCutOff) return state.messages;
  const { repair } = task;
  if (!repair) {
    state.base = task.parent.candidate;
    return [system, { role: 'user', text: taskText(task, parts.priors), isStable: true }];
  }
  if ('attempt' in repair) state.base = repair.attempt.judged!.candidate;
  const told = 'told' in repair ? refusalText(repair.told) : verdictText(repair.attempt);
  const basis =
    'told' in repair && state.base && state.base.id !== task.parent.candidate.id
      ? `${told} Edits now apply to that kernel.`
      : told;
  return [...state.messages, { role: 'assistant', text: state.last }, { role: 'user', text: basis }];
}

type Asking = Pick<Exchange, 'maximumOutputTokens'> & { readonly messages: readonly Message[] };

/** The recorded answer, or the model's. */
async function nextAnswer(
  { messages, maximumOutputTokens }: Asking,
  state: State,
  parts: ModelAuthorParts,
): Promise<ModelAnswer | 'interrupted' | 'no-more'> {
  const { recorded, goesOn, endpoint, record, signal, wait = waitFor } = parts;
  const earlier = recorded[state.requests];
  if (earlier) return earlier.answer as ModelAnswer;
  if (!goesOn) return 'no-more';
  if (signal?.aborted) return 'interrupted';
  try {
    if (state.failures > 0) await wait(pauseOf(state), signal);
  } catch (error) {
    if (signal?.aborted) return 'interrupted';
    throw error;
  }
  const answer = await endpoint.ask({ messages, maximumOutputTokens, signal });
  const repeated = state.messages.findIndex((message, index) => message.text !== messages[index]?.text);
  const known = repeated < 0 ? Math.min(state.messages.length, messages.length) : repeated;
  const told = messages.slice(known).map(({ role, text }) => ({ role, text }));
  record({ request: state.requests + 1, repeated: known, messages: told, maximumOutputTokens, answer });
  return answer;
}

const pauseOf = ({ failures, retryAfterMs }: State): number =>
  Math.min(LONGEST_WAIT_MS, retryAfterMs ?? WAITS_MS[Math.min(failures, WAITS_MS.length) - 1]!);

async function waitFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, { signal });
}

function askedOf({ usage }: ModelAnswer, task: Task, state: State, spending: Spending): AskedRequest {
  state.requests += 1;
  const money = spending.spend(usage);
  return {
    request: state.requests,
    purpose: task.repair ? 'repair' : 'write',
    tokens: usage,
    money,
    tokensUsed: spending.tokens,
    moneyUsed: spending.money,
  };
}

async function readAnswer(answer: ModelAnswer, task: Task, state: State, parts: ModelAuthorParts): Promise<Answer> {
  state.isCutOff = !answer.ok && answer.failure === 'interrupted';
  if (!answer.ok) return readFailure(answer, state);
  state.failures = 0;
  state.last = answer.text;
  let hypothesis = '';
  try {
    const said = parseAnswer(answer.text, answer.isComplete);
    hypothesis = said.hypothesis;
    const parent = state.base ?? task.parent.candidate;
    const candidate = candidateForRun({ files: said.files, edits: said.edits, parent }, parts.problem);
    const wrong = await parts.check(candidate);
    if (wrong !== undefined) {
      state.base = candidate;
      return { kind: 'refused', ...wrong, hypothesis };
    }
    const { levers, predictedRatio } = said;
    const files = changedFiles(task.parent.candidate, candidate);
    return { kind: 'candidate', candidate, hypothesis, levers, predictedRatio, files };
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    return { kind: 'refused', code: error.details.code, reason: errorText(error), hypothesis };
  }
}

type Failed = Extract<ModelAnswer, { ok: false }>;

/** What may go away is asked again; an answer that can't be used is told so; else the endpoint is given up. */
function readFailure({ failure, message, retryAfterMs }: Failed, state: State): Answer {
  if (failure === 'too-long' || failure === 'no-text') {
    state.failures = 0;
    state.last = '(no usable answer)';
    return { kind: 'refused', code: failure, reason: message };
  }
  if (failure === 'interrupted') return { kind: 'interrupted', code: failure, reason: message };
  state.failures += 1;
  state.retryAfterMs = retryAfterMs;
  if (!isPassing(failure)) state.isDead = message;
  return { kind: 'failed', code: failure, reason: message };
}
