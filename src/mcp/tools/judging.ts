import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { checkSubmission } from '../../app/author/check-submission.ts';
import { attemptOf, type Submitted } from '../../app/author/lineage.ts';
import { namedCandidate } from '../../app/author/list-kernels.ts';
import type { Search, Turn } from '../../app/author/turn.ts';
import { type Feedback, feedbackOf, feedbackSchema, feedbackText } from '../../reports/feedback.ts';
import type { Answer } from '../answer.ts';
import { tool } from '../tool.ts';
import { lines, submissionFields, submittedCandidate, titled } from './shared.ts';

/** What an author says of a kernel. `check` takes it too, and ignores it: the same arguments serve both. */
const saidFields = {
  hypothesis: z.string().min(1).max(600).describe('What you changed, and why it should be faster.'),
  predictedRatio: z.number().positive().optional().describe('Parent’s time ÷ its time, as you expect it.'),
};

export const check = tool({
  name: 'check',
  title: 'Compile only',
  description:
    'Compiles a kernel and expands its launches: errors with file and line, registers, local memory. Runs nothing and costs no evaluation.',
  input: z.object({ ...submissionFields, ...saidFields, hypothesis: saidFields.hypothesis.optional() }),
  output: z.object({
    candidate: z.string(),
    compiles: z.boolean(),
    problem: z.string().nullable(),
    diagnostics: z.array(z.string()),
    resources: z.array(z.string()),
    launches: z.array(z.string()),
  }),
  readOnly: true,
  async answer(turn, input, signal) {
    const found = await checkSubmission(turn, submittedCandidate(turn, input).candidate, signal);
    const text = lines(
      found.compiles ? 'compiles' : 'does not compile',
      found.problem,
      titled('compiler', found.diagnostics),
      titled('resources', found.resources),
      titled('launches', found.launches),
    );
    return { data: { ...found }, text };
  },
});

export const submit = tool({
  name: 'submit',
  title: 'Have a kernel judged',
  description:
    'Puts a kernel in the queue: it is compiled, verified on secret inputs and shapes, timed and diagnosed. Returns its id at once; `wait` gives the verdict. Costs one evaluation; a kernel that was judged before costs none.',
  input: z.object({
    ...submissionFields,
    ...saidFields,
  }),
  output: z.object({ id: z.string(), parent: z.string(), isNew: z.boolean() }),
  readOnly: false,
  async answer(turn, input) {
    const { candidate, parent } = submittedCandidate(turn, input);
    const { hypothesis, predictedRatio = null } = input;
    const { isNew } = await turn.submit(candidate, { hypothesis, predictedRatio, parent: parent.id });
    const text = isNew
      ? `${candidate.id} is in the queue; call wait with this id`
      : `${candidate.id} was submitted before: exactly the same kernel; call result with this id`;
    return { data: { id: candidate.id, parent: parent.id, isNew }, text };
  },
});

const verdictOutput = z.object({
  id: z.string(),
  state: z.enum(['waiting', 'running', 'failed', 'cancelled', 'judged', 'finished']),
  reason: z.string().optional(),
  best: z.string().optional().describe('Of a search: the id of the best candidate.'),
  feedback: feedbackSchema.optional(),
});

/** Feedback on an attempt; undefined if its evaluation is no longer in the store. */
function feedbackOn(turn: Turn, attempt: Submitted): Feedback | undefined {
  const evaluation = turn.evaluationOf(attempt);
  if (!evaluation) return undefined;
  const { parent, predictedRatio, ratioToParent, ratioToStart } = attempt.authored;
  const before = parent === null ? undefined : attemptOf(turn.lineage(), parent);
  return feedbackOf({
    evaluation,
    parent: before && turn.evaluationOf(before),
    ratioToParent,
    ratioToStart,
    predictedRatio,
  });
}

/** How far a search is, with feedback on its best candidate. */
function searchAnswer(turn: Turn, { id, state, reason, best }: Search): Answer {
  const attempt = best === undefined ? undefined : attemptOf(turn.lineage(), best);
  const feedback = attempt && feedbackOn(turn, attempt);
  const about = [`${id} ${state}`, reason, best && `best ${best}`].filter(Boolean).join('; ');
  const text = feedback ? `${about}\n${best} ${feedbackText(feedback)}` : about;
  return { data: { id, state, reason, best, feedback }, text };
}

/** The verdict on a candidate, or how far it is. */
function verdictOf(turn: Turn, asked: string): Answer {
  const search = turn.searchOf(asked);
  if (search) return searchAnswer(turn, search);
  const { id } = namedCandidate(turn, asked);
  const attempt = attemptOf(turn.lineage(), id);
  if (!attempt) {
    const pending = turn.pendingOf(id);
    const state = pending?.state ?? 'waiting';
    const { reason, begunAt } = pending ?? {};
    const since =
      state === 'running' && begunAt !== undefined ? ` for ${Math.round((Date.now() - begunAt) / 1000)} s` : '';
    return { data: { id, state, reason }, text: `${id} ${state}${since}${reason ? `: ${reason}` : ''}` };
  }
  const feedback = feedbackOn(turn, attempt);
  if (!feedback) return { data: { id, state: 'judged', reason: 'its evaluation is no longer in the store' }, text: id };
  return { data: { id, state: 'judged', feedback }, text: `${id} ${feedbackText(feedback)}` };
}

const id = z.string().describe('Of `submit` or `start`, or "start" for the start kernel.');

export const result = tool({
  name: 'result',
  title: 'Verdict, now',
  description: 'The verdict on a submission with feedback, or its state if there is none yet. Does not wait.',
  input: z.object({ id }),
  output: verdictOutput,
  readOnly: true,
  answer: async (turn, input) => verdictOf(turn, input.id),
});

const MOST_SECONDS = 45;

export const wait = tool({
  name: 'wait',
  title: 'Verdict, when it is there',
  description: `Waits up to ${MOST_SECONDS} s for the verdict on a submission. Call it again if the state is still waiting or running.`,
  input: z.object({ id, seconds: z.number().min(0).max(MOST_SECONDS).default(MOST_SECONDS) }),
  output: verdictOutput,
  readOnly: true,
  async answer(turn, input, signal) {
    const ending = new AbortController();
    const either = AbortSignal.any([signal, ending.signal]);
    const verdict = comingOf(turn, input.id);
    await Promise.race([
      verdict,
      ...(verdict ? [sleep(input.seconds * 1000, undefined, { signal: either }).catch(() => undefined)] : []),
    ]);
    ending.abort();
    return verdictOf(turn, input.id);
  },
});

/** What settles when there is an answer. */
function comingOf(turn: Turn, asked: string): Promise<unknown> | undefined {
  const search = turn.searchOf(asked);
  if (search) return search.done;
  const { id: candidate } = namedCandidate(turn, asked);
  return candidate === turn.start.id ? turn.judgedStart() : turn.pendingOf(candidate)?.done;
}

export const cancel = tool({
  name: 'cancel',
  title: 'Give up a submission',
  description: 'Ends a submission or search that has no verdict yet. One that was still waiting costs nothing.',
  input: z.object({ id }),
  output: z.object({ id: z.string(), cancelled: z.boolean() }),
  readOnly: false,
  async answer(turn, input) {
    const named = turn.searchOf(input.id)?.id ?? turn.candidate(input.id).id;
    const cancelled = turn.cancel(named);
    return { data: { id: named, cancelled }, text: cancelled ? `${named} cancelled` : `${named} is not being judged` };
  },
});
