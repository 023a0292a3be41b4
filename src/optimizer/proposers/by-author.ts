import { makeCandidate } from '../../core/candidate.ts';
import { isWrongWhenTimed } from '../../core/evaluation.ts';
import type { Candidate } from '../../core/kernel.ts';
import { takesWorkload } from '../../core/plan/takes-workload.ts';
import type { AuthorAskedEvent, RunEvent, Tokens } from '../../store/events.ts';
import {
  type Answer,
  type AskedRequest,
  type Attempt,
  type Author,
  type Came,
  type Member,
  MOST_CAUGHT,
  NO_COST,
  type Step,
  type Task,
  type Written,
} from '../authoring/author.ts';
import { createLadder, type Ladder } from '../authoring/ladder.ts';
import { attemptOf, type Lineage } from '../authoring/lineage.ts';
import { skeletonOf } from '../authoring/near-duplicate.ts';
import { openSettingsSearch, type SettingsSearch } from '../authoring/settings-search.ts';
import { isTimed } from '../decision.ts';
import { evidenceText, type ProposedMove } from '../propose-moves.ts';
import { emit, type Run, reference } from '../run.ts';
import type { Proposer, Turn } from './proposer.ts';

/** Repairs of one kernel: what does not compile or is wrong after them is given up. */
const MOST_REPAIRS = 3;
/** Requests in a row without an answer. */
const MOST_FAILURES = 4;

/** A kernel on its way: what was asked, and what it cost so far. */
interface Child {
  parent: Member;
  findingRank: number;
  readonly mode: Task['mode'];
  readonly isFresh: boolean;
  repairs: number;
  repair: Task['repair'];
  cost: typeof NO_COST;
}

interface Memory {
  readonly author: Author;
  /** Its own name, or that of the one to ask among those for whom it stands. */
  readonly by: string;
  readonly lineage: Lineage;
  readonly ladder: Ladder;
  child: Child | undefined;
  /** A turn has begun, and is over as soon as nothing of it is on its way. */
  isInTurn: boolean;
  /** What is being judged. */
  waiting: { readonly move: ProposedMove; readonly written: Written; readonly by: string } | undefined;
  /** The search over the settings of what was written last, and the best attempt of them so far. */
  search:
    | { readonly settings: SettingsSearch; readonly written: Written; readonly by: string; attempt: Attempt }
    | undefined;
  /** Start's time ÷ that of what was judged last. */
  lastRatio: number | undefined;
  failures: number;
  redirections: number;
}

export interface ByAuthorRequest {
  readonly author: Author;
  /** Whom to ask, where the author stands for several. */
  readonly by?: string | undefined;
  readonly lineage: Lineage;
}

/**
 * Asks an author for kernels, one at a time. Tells it what is wrong with a kernel, at most three times. Notices when it gets no
 * further, and sends it elsewhere. One turn is one kernel with its repairs and settings, or one step of an agent process.
 */
export function createByAuthor({ author, by = author.name, lineage }: ByAuthorRequest): Proposer<Run> {
  const memory: Memory = {
    author,
    by,
    lineage,
    ladder: createLadder(author.mode),
    child: undefined,
    isInTurn: false,
    waiting: undefined,
    search: undefined,
    lastRatio: undefined,
    failures: 0,
    redirections: 0,
  };
  // An earlier run may have caught it: its turn is over for good.
  const isOver = lineage.isCaught(by);
  return {
    async next(run) {
      if (isOver) return caughtTwice(by);
      lineage.rememberStart(run);
      const over = noteJudged(memory, run);
      if (over) return over;
      const setting = memory.search?.settings.next();
      if (setting) return { move: settingOf(memory, setting, run) };
      const end = endSearch(memory, run);
      if (end) return end;
      if (memory.isInTurn && !memory.child && !author.isAtWork) {
        memory.isInTurn = false;
        return { isTurnOver: true };
      }
      memory.isInTurn = true;
      memory.child ??= begin(memory);
      const result = await author.ask(taskOf(memory, memory.child, run));
      return result ? take(memory, run, result) : {};
    },
    note(move, { ratio }) {
      if (memory.waiting?.move === move) memory.lastRatio = ratio;
    },
    async rest(run) {
      const step = await author.rest?.(lineage.isCaught(by) ? 'caught' : 'search-ended');
      if (step) logStep(run, step);
    },
  };
}

function begin(memory: Memory): Child {
  const { parentRank, findingRank, mode, isFresh } = memory.ladder.direction;
  const elites = memory.lineage.elites();
  const parent = elites[parentRank % elites.length]!;
  return { parent, findingRank, mode, isFresh, repairs: 0, repair: undefined, cost: NO_COST };
}

const findingOf = ({ parent: { evaluation }, findingRank }: Child) => evaluation.findings[findingRank];

const taskOf = (memory: Memory, child: Child, { budget }: Run): Task => ({
  mode: child.mode,
  isFresh: child.isFresh,
  parent: child.parent,
  finding: findingOf(child),
  attempts: memory.lineage.attempts,
  elites: memory.lineage.elites(),
  repair: child.repair,
  evaluationsLeft: budget.searchEvaluationsLeft,
  minutesLeft: budget.limits.maximumMinutes === null ? null : budget.limits.maximumMinutes - budget.minutesUsed(),
  evaluationsUsed: budget.evaluationsUsed,
  redirections: memory.redirections,
  by: memory.by,
});

/** What follows from an answer: a move, an end, or another question. */
function take(memory: Memory, run: Run, came: Came): Turn {
  if ('step' in came) return afterStep(memory, run, came.step);
  const { asked, answer, by = memory.by } = came;
  if (answer.kind === 'ended') return { exhausted: answer };
  const child = memory.child!;
  if (answer.kind === 'candidate') goOnFrom(memory, child, answer);
  if (asked) child.cost = addCost(child.cost, asked);
  const judged = answer.kind === 'candidate' ? refuseKnown(memory, run, answer) : answer;
  if (asked) emit(run, askedEvent(child, by, run, asked, judged));
  if (judged.kind === 'interrupted') return {};
  if (judged.kind === 'failed') return afterFailure(memory, by, judged);
  memory.failures = 0;
  if (judged.kind === 'refused') {
    if (answer.kind === 'candidate')
      memory.lineage.tell(run, { candidate: answer.candidate, refusal: judged.reason, by });
    return afterRefusal(memory, run, judged);
  }
  return { move: moveOf(memory, child, judged, by) };
}

/** An author that sees every attempt may have changed another kernel than the one it was sent to. */
function goOnFrom({ lineage: { passed } }: Memory, child: Child, { parent }: Written): void {
  const other = parent === undefined ? undefined : passed.get(parent);
  if (!other || other.candidate.id === child.parent.candidate.id) return;
  child.parent = other;
  child.findingRank = 0;
}

function logStep(run: Run, { kind, ...step }: Step): void {
  const type = kind === 'began' ? 'author-step-began' : 'author-step-ended';
  emit(run, { type, iteration: run.iteration + 1, ...step } as RunEvent);
}

/** A step in which nothing was handed in counts as a request without an answer. */
function afterStep(memory: Memory, run: Run, step: Step): Turn {
  logStep(run, step);
  if (step.kind === 'began') return {};
  // The next session is told everything anew.
  memory.child = undefined;
  if (step.submissions > 0) return {};
  return afterFailure(memory, step.author, { reason: `nothing was submitted: ${step.end}, ${step.detail}` });
}

type Refused = Extract<Answer, { kind: 'refused' }>;
type Failed = Extract<Answer, { kind: 'failed' }>;
type CutOff = Extract<Answer, { kind: 'interrupted' }>;

const askedEvent = (
  child: Child,
  author: string,
  { iteration }: Run,
  asked: AskedRequest,
  answer: Written | Refused | Failed | CutOff,
): AuthorAskedEvent => ({
  type: 'author-asked',
  iteration: iteration + 1,
  ...asked,
  author,
  mode: child.mode,
  parent: child.parent.candidate.id,
  finding: findingIdOf(child),
  outcome: answer.kind === 'interrupted' ? 'failed' : answer.kind,
  code: answer.kind === 'candidate' ? null : answer.code,
  reason: answer.kind === 'candidate' ? answer.hypothesis : answer.reason,
});

function addCost(cost: typeof NO_COST, { tokens, money, seconds }: AskedRequest): typeof NO_COST {
  const sum = (name: keyof Omit<Tokens, 'isEstimate'>): number => cost.tokens[name] + tokens[name];
  return {
    requests: cost.requests + 1,
    tokens: {
      input: sum('input'),
      cacheRead: sum('cacheRead'),
      cacheWrite: sum('cacheWrite'),
      output: sum('output'),
      isEstimate: cost.tokens.isEstimate || tokens.isEstimate,
    },
    money: money === null ? cost.money : (cost.money ?? 0) + money,
    seconds: seconds === undefined ? undefined : (cost.seconds ?? 0) + seconds,
  };
}

/** A kernel that was judged before, or that differs from one in nothing that counts, costs no evaluation. */
function refuseKnown({ lineage, by }: Memory, { options, judgements }: Run, written: Written): Written | Refused {
  const { candidate, hypothesis } = written;
  const refuse = (code: string, reason: string): Refused => ({ kind: 'refused', code, reason, hypothesis });
  const skeleton = skeletonOf(candidate);
  const like = lineage.skeletons.get(skeleton);
  if (like !== undefined || judgements.has(candidate.id)) {
    return refuse(
      'near-duplicate',
      `it differs from ${like ?? 'an earlier kernel'} at most in comments, white space, names and the values of parameters`,
    );
  }
  const untaken = options.workloads.find(({ dimensions }) => !takesWorkload(candidate, dimensions));
  if (untaken) return refuse('workload-not-taken', `its limits or constraints turn the workload ${untaken.name} away`);
  const named = withName(candidate, lineage.names);
  const { name } = named.kernel.file;
  lineage.skeletons.set(skeleton, name);
  lineage.names.add(name);
  lineage.writers.set(name, by);
  return { ...written, candidate: named };
}

/** Runs tell kernels apart by their names. */
function withName(candidate: Candidate, taken: ReadonlySet<string>): Candidate {
  const { kernel, parameters } = candidate;
  const { name } = kernel.file;
  if (!taken.has(name)) return candidate;
  const base = name.replace(/_v\d+$/, '');
  let count = 2;
  while (taken.has(`${base}_v${count}`)) count += 1;
  return makeCandidate({ ...kernel, file: { ...kernel.file, name: `${base}_v${count}` } }, parameters);
}

function moveOf(memory: Memory, child: Child, written: Written, by: string): Turn['move'] {
  const { candidate, hypothesis, levers, predictedRatio, files } = written;
  const { parent, mode, cost } = child;
  const finding = findingOf(child);
  const move: ProposedMove = {
    key: `written/${memory.lineage.attempts.length + 1}`,
    pattern: { id: 'written', title: 'A kernel that an author wrote' },
    finding: {
      id: finding?.id ?? 'none',
      estimatedSpeedup: finding?.estimatedSpeedup ?? 1,
      evidence: finding ? evidenceText(finding) : 'no finding was named',
      evaluationId: parent.evaluation.id,
    },
    change: {
      kind: 'written',
      parent: reference(parent.candidate),
      kernel: candidate.kernel.file.name,
      files: [...files],
      author: by,
      mode,
      hypothesis,
      levers: [...levers],
      predictedRatio,
      cost,
    },
    candidate,
    written: { isSetting: false, parent: parent.candidate },
    expectedGain: predictedRatio ?? 1,
    // What an author hopes is no evidence.
    confidence: 0,
    reason: hypothesis,
  };
  memory.waiting = { move, written, by };
  return move;
}

function afterFailure(memory: Memory, by: string, { reason }: Pick<Failed, 'reason'>): Turn {
  memory.failures += 1;
  if (memory.failures < MOST_FAILURES) return {};
  const detail = `${by} gave no answer ${MOST_FAILURES} times in a row: ${reason}`;
  return { exhausted: { reason: 'author-failed', detail } };
}

function afterRefusal(memory: Memory, run: Run, { code, reason, hypothesis = '' }: Refused): Turn {
  const child = memory.child!;
  child.repair = { told: reason };
  child.repairs += 1;
  if (child.repairs > MOST_REPAIRS) {
    const refusal = `${code}: ${reason}`;
    const said = { finding: findingIdOf(child), hypothesis, predictedRatio: null, refusal };
    memory.lineage.attempts.push({ parent: child.parent.candidate.id, ...said });
    memory.child = undefined;
  }
  return redirect(memory, run, { isKept: false, isNearDuplicate: code === 'near-duplicate', realised: null });
}

const findingIdOf = (child: Child): string => findingOf(child)?.id ?? 'none';

/** Asks the ladder. */
function redirect(memory: Memory, run: Run, outcome: Parameters<Ladder['note']>[0]): Turn {
  const redirection = memory.ladder.note(outcome);
  if (!redirection) return {};
  emit(run, { type: 'author-redirected', iteration: run.iteration, ...redirection });
  memory.child = undefined;
  memory.redirections += 1;
  if (redirection.step !== 'stop') return {};
  return {
    exhausted: { reason: 'author-stuck', detail: `${memory.by} gets no further: ${redirection.reason}` },
  };
}

/** Notes what came of the kernel that was judged last. Returns the end, if that is one. */
function noteJudged(memory: Memory, run: Run): Turn | undefined {
  const { waiting, child, search, lineage } = memory;
  if (!waiting || !child) return undefined;
  memory.waiting = undefined;
  const { move, written, by } = waiting;
  const { candidate } = move;
  const isSetting = search !== undefined;
  const judged = [...run.judged.values()];
  if (judged.some(({ status }) => status === 'device-failed')) {
    // Nobody judged it: the same kernel may come again.
    if (!isSetting) lineage.skeletons.delete(skeletonOf(candidate));
    const refusal = 'the device failed; the kernel is not to blame: submit it again';
    lineage.tell(run, { candidate, isSetting, refusal, mayComeAgain: true, by });
    return undefined;
  }
  const { hypothesis, predictedRatio } = written;
  const said = { parent: child.parent, finding: findingIdOf(child), hypothesis, predictedRatio };
  const attempt = attemptOf(run, candidate, said);
  const { evaluation, ratioToStart } = attempt.judged!;
  if (isTimed(evaluation) && ratioToStart !== null) lineage.remember({ candidate, evaluation, ratioToStart });
  lineage.tell(run, { candidate, isSetting, attempt, by });
  if (judged.some(isWrongWhenTimed) && lineage.noteCaught(by)) return caughtTwice(by);
  if (search) {
    search.settings.tell(move.candidate, memory.lastRatio);
    search.attempt = better(search.attempt, attempt);
    return undefined;
  }
  memory.search = searchOf(memory, run, waiting, attempt);
  return memory.search ? undefined : conclude(memory, run, attempt);
}

/** A structure that is not much slower than its parent may only have a bad setting. */
const LEAST_PROMISING = 1 / 3;

function searchOf(
  { lastRatio }: Memory,
  { options, budget }: Run,
  { written, by }: NonNullable<Memory['waiting']>,
  attempt: Attempt,
): Memory['search'] {
  const { candidate, ratioToParent } = attempt.judged!;
  if (lastRatio === undefined || ratioToParent === null || !(ratioToParent >= LEAST_PROMISING)) return undefined;
  const evaluationsLeft = budget.searchEvaluationsLeft;
  const settings = openSettingsSearch({ candidate, ratio: lastRatio, options, evaluationsLeft });
  return settings && { settings, written, by, attempt };
}

/** The faster one of two settings; a structure was kept if one of them was. */
function better(one: Attempt, other: Attempt): Attempt {
  const isFaster = (other.judged?.ratioToParent ?? 0) > (one.judged?.ratioToParent ?? 0);
  const { judged, ...attempt } = isFaster ? other : one;
  return { ...attempt, judged: { ...judged!, isKept: one.judged!.isKept || other.judged!.isKept } };
}

/** What the author is told is what the best setting gave. */
function endSearch(memory: Memory, run: Run): Turn | undefined {
  const { search } = memory;
  memory.search = undefined;
  return search && conclude(memory, run, search.attempt);
}

/** Keeps an attempt, and decides what the author is asked next. Returns the end, if that is one. */
function conclude(memory: Memory, run: Run, attempt: Attempt): Turn | undefined {
  const child = memory.child!;
  const { evaluation, ratioToParent, isKept } = attempt.judged!;
  memory.lineage.attempts.push(attempt);
  if (evaluation.status !== 'passed' && child.repairs < MOST_REPAIRS) {
    child.repairs += 1;
    child.repair = { attempt };
  } else memory.child = undefined;
  const { predictedRatio } = attempt;
  const realised = ratioToParent === null || predictedRatio === null ? null : ratioToParent / predictedRatio;
  const turn = redirect(memory, run, { isKept, isNearDuplicate: false, realised });
  return turn.exhausted ? turn : undefined;
}

function settingOf(memory: Memory, candidate: Candidate, { iteration }: Run): ProposedMove {
  const { written, by } = memory.search!;
  const { parent } = memory.child!;
  const { kernel, parameters } = candidate;
  const move: ProposedMove = {
    key: `written-settings/${iteration + 1}`,
    pattern: { id: 'written-settings', title: 'Settings of a kernel that an author wrote' },
    finding: { id: 'none', estimatedSpeedup: 1, evidence: 'a search over its parameters chose it' },
    change: { kind: 'configuration', kernel: kernel.file.name, parameters },
    candidate,
    written: { isSetting: true, parent: parent.candidate },
    expectedGain: 1,
    confidence: 0,
    reason: `a setting of ${kernel.file.name}, which ${by} wrote`,
  };
  memory.waiting = { move, written, by };
  return move;
}

const caughtTwice = (author: string): Turn => ({
  exhausted: {
    reason: 'author-caught',
    detail: `${MOST_CAUGHT} kernels of ${author} were right when verified and wrong when timed`,
  },
});
