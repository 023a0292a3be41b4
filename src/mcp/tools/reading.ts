import { z } from 'zod';
import { describeProblem, problemText } from '../../app/author/describe-problem.ts';
import { historyOf } from '../../app/author/history.ts';
import { filesOfKernel, listKernels } from '../../app/author/list-kernels.ts';
import { tool } from '../tool.ts';
import { lines, titled } from './shared.ts';

const texts = z.array(z.string());

export const problem = tool({
  name: 'problem',
  title: 'What to compute',
  description:
    'Call this first. What the kernel must compute: buffers, dimensions, the workload that is timed, tolerance, rules of a kernel folder, kernel.json by example, and the reference.',
  input: z.object({}),
  output: z.object({
    name: z.string(),
    description: z.string(),
    device: z.string(),
    architecture: z.string(),
    workload: z.string(),
    dimensions: texts,
    buffers: texts,
    scalars: texts,
    limits: texts,
    tolerance: texts,
    bounds: z.string(),
    rules: texts,
    kernelJson: z.string(),
    expressions: z.string(),
    reference: z.string(),
  }),
  readOnly: true,
  async answer(turn) {
    const brief = await describeProblem(turn);
    return { data: { ...brief }, text: problemText(brief) };
  },
});

export const kernels = tool({
  name: 'kernels',
  title: 'Kernels to begin with',
  description:
    'Without `id`: the kernels that are there (the start, and every attempt). With `id`: the files of one, exactly as edits must quote them.',
  input: z.object({ id: z.string().optional().describe('"start", or the id of an attempt.') }),
  output: z.object({
    kernels: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        description: z.string(),
        parameters: z.record(z.string(), z.number()),
      }),
    ),
    files: z.record(z.string(), z.string()).optional(),
  }),
  readOnly: true,
  async answer(turn, { id }) {
    const all = listKernels(turn);
    if (id === undefined) {
      const listed = all.map(({ id: one, name, description }) => `${one}: ${name}: ${description}`);
      return { data: { kernels: all }, text: lines(titled('kernels', listed)) };
    }
    const files = filesOfKernel(turn, id);
    const shown = Object.entries(files).map(([name, text]) => `=== ${name}\n${text}`);
    return { data: { kernels: all.filter((one) => one.id === id), files }, text: lines(shown) };
  },
});

export const history = tool({
  name: 'history',
  title: 'What was tried',
  description:
    'The lineage, a line for each attempt: parent, hypothesis, hoped and real ratio, refusal. Then the frontier: the fastest attempts that different things limit.',
  input: z.object({ last: z.number().int().min(1).max(200).default(30).describe('Only so many, the newest.') }),
  output: z.object({ attempts: texts, frontier: texts, best: z.string().nullable(), waiting: texts }),
  readOnly: true,
  async answer(turn, { last }) {
    const view = historyOf(turn, last);
    const text = lines(
      view.attempts.length === 0 && 'nothing was judged yet',
      titled('attempts', view.attempts),
      titled('frontier', view.frontier),
      titled('without a verdict', view.waiting),
      view.best !== null && `best: ${view.best}`,
    );
    return { data: { ...view }, text };
  },
});
