import { z } from 'zod';
import { compareAttempts } from '../../app/author/compare-attempts.ts';
import { diagnoseAttempt } from '../../app/author/diagnose-attempt.ts';
import { inspectAttempt } from '../../app/author/inspect-attempt.ts';
import { namedCandidate } from '../../app/author/list-kernels.ts';
import { tool } from '../tool.ts';
import { lines, titled } from './shared.ts';

const texts = z.array(z.string());
const id = z.string().describe('"start", or the id of an attempt.');

export const diagnose = tool({
  name: 'diagnose',
  title: 'What limits an attempt',
  description: 'Every finding on a judged attempt with its arithmetic, and what known remedies advise. Costs nothing.',
  input: z.object({ id }),
  output: z.object({
    id: z.string(),
    status: z.string(),
    findings: texts,
    hidden: texts,
    moves: texts,
    advice: texts,
    conditions: texts,
  }),
  readOnly: true,
  async answer(turn, input) {
    const found = await diagnoseAttempt(turn, input.id);
    const text = lines(
      `${found.id} ${found.status}`,
      titled('findings', found.findings),
      titled('hidden as long as something else binds', found.hidden),
      titled('parameters to try', found.moves),
      titled('advice', found.advice),
      titled('not verified', found.conditions),
    );
    return { data: { ...found }, text };
  },
});

export const inspect = tool({
  name: 'inspect',
  title: 'What the lines cost',
  description:
    'The costliest source lines of a judged attempt: instructions, sectors per global request, wavefronts per shared request, conflicts. Costs nothing.',
  input: z.object({ id, lines: z.number().int().min(1).max(40).default(10) }),
  output: z.object({ id: z.string(), counted: z.string(), launches: texts, hot: texts }),
  readOnly: true,
  async answer(turn, input) {
    const found = inspectAttempt(turn, input.id, input.lines);
    const text = lines(found.counted, titled('launches', found.launches), titled('costliest lines', found.hot));
    return { data: { ...found }, text };
  },
});

export const compare = tool({
  name: 'compare',
  title: 'One attempt against another',
  description:
    'The ratio of two judged attempts and the counters that differ. On a real GPU both are measured in the same blocks, for one evaluation; predictions cost nothing.',
  input: z.object({ baseline: id, candidate: id }),
  output: z.object({
    baseline: z.string(),
    candidate: z.string(),
    kind: z.enum(['measured', 'predicted']).nullable(),
    ratio: z.number().nullable(),
    verdict: z.string(),
    counters: texts,
  }),
  readOnly: false,
  async answer(turn, input) {
    const found = await compareAttempts(turn, input);
    const ratio =
      found.ratio === null ? 'no ratio' : `${found.kind} ${found.ratio.toFixed(2)}× the speed of ${found.baseline}`;
    return {
      data: { ...found },
      text: lines(`${found.candidate}: ${ratio}; ${found.verdict}`, titled('counters', found.counters)),
    };
  },
});

export const start = tool({
  name: 'start',
  title: 'Search over parameters',
  description:
    'Searches the parameters of a kernel in the background, guided by findings; code stays as it is. Returns an id for wait and cancel. The best becomes an attempt. Evaluations are taken from the budget; unused ones come back.',
  input: z.object({ id, evaluations: z.number().int().min(3).max(60).default(8) }),
  output: z.object({ id: z.string() }),
  readOnly: false,
  async answer(turn, input) {
    const search = turn.search(namedCandidate(turn, input.id), input.evaluations);
    return { data: { id: search }, text: `${search} began; call wait with this id` };
  },
});
