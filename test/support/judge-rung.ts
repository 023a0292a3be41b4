import { expect } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import type { Session } from '../../src/app/session.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { DType } from '../../src/core/dtype.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import type { Kernel, ParameterValues } from '../../src/core/kernel.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';
import type { Problem } from '../../src/core/problem.ts';

/** What is in the source, and what is to stand there instead. */
export type Edit = readonly [text: string, instead: string];

export interface RungRequest {
  folder: string;
  dtype?: DType;
  workload: string;
  parameters?: ParameterValues;
  /** Made everywhere in kernel.cu: turns a right kernel into one with a known mistake. */
  edits?: readonly Edit[];
  /** Judge on these generator sets only. */
  generators?: string[];
}

function withEdits(kernel: Kernel, edits: readonly Edit[]): Kernel {
  const source = edits.reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replaceAll(from, to);
  }, kernel.sources['kernel.cu']!);
  return { ...kernel, sources: { ...kernel.sources, 'kernel.cu': source } };
}

/** Problems of a session: what one evaluation worked out for a problem serves the next. */
const problems = new WeakMap<Session, Map<string, Problem>>();

/** The same object each time for the same problem and generator sets. */
function problemOf(session: Session, problem: Problem, generators: string[] | undefined): Problem {
  const known = problems.get(session) ?? new Map<string, Problem>();
  problems.set(session, known);
  const key = JSON.stringify([problem.folder, problem.file.name, generators]);
  const checkShapes = problem.file.checkShapes.map((shape) => ({ ...shape, ...(generators && { generators }) }));
  const own = known.get(key) ?? { ...problem, file: { ...problem.file, checkShapes } };
  known.set(key, own);
  return own;
}

/** Judges a rung, or what edits make of it. */
export async function judgeRung(session: Session, request: RungRequest): Promise<Evaluation> {
  const { kernel, problem } = await loadKernel(request.folder, { dtype: request.dtype });
  return session.evaluator.evaluate({
    problem: problemOf(session, problem, request.generators),
    candidate: makeCandidate(withEdits(kernel, request.edits ?? []), request.parameters ?? {}),
    workload: resolveWorkload(problem.file, request.workload),
    seed: 1,
  });
}
