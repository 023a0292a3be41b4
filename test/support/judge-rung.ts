import { expect } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import type { Session } from '../../src/app/session.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Evaluation } from '../../src/core/evaluation.ts';
import type { Kernel, ParameterValues } from '../../src/core/kernel.ts';
import { resolveWorkload } from '../../src/core/plan/resolve-workload.ts';

/** What is in the source, and what is to stand there instead. */
export type Edit = readonly [text: string, instead: string];

export interface RungRequest {
  folder: string;
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

/** Judges a rung, or what edits make of it. */
export async function judgeRung(session: Session, request: RungRequest): Promise<Evaluation> {
  const { kernel, problem } = await loadKernel(request.folder);
  const { generators } = request;
  const checkShapes = problem.file.checkShapes.map((shape) => ({ ...shape, ...(generators && { generators }) }));
  return session.evaluator.evaluate({
    // The problem itself where it can be: then what one evaluation worked out for it serves the next.
    problem: generators ? { ...problem, file: { ...problem.file, checkShapes } } : problem,
    candidate: makeCandidate(withEdits(kernel, request.edits ?? []), request.parameters ?? {}),
    workload: resolveWorkload(problem.file, request.workload),
    seed: 1,
  });
}
