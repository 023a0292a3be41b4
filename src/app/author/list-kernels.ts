import { makeCandidate } from '../../core/candidate.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { Candidate, ParameterValues } from '../../core/kernel.ts';
import { kernelTexts } from './kernel-texts.ts';
import { attemptOf } from './lineage.ts';
import { notJudged, type Turn } from './turn.ts';

/** A kernel that an author may read and make others from. */
export interface ListedKernel {
  /** `start`, the name of a rung, or the id of an attempt. */
  id: string;
  name: string;
  description: string;
  parameters: ParameterValues;
}

/** The start, the rungs if they are shown, and every attempt. */
export function listKernels(turn: Turn): ListedKernel[] {
  const rungs = turn.showsRungs ? turn.rungs.map((rung) => listed(rung.file.name, makeCandidate(rung, {}))) : [];
  const attempts = turn.lineage().filter(({ candidate }) => candidate.id !== turn.start.id);
  return [
    listed('start', turn.start),
    ...rungs,
    ...attempts.map(({ candidate: { id, kernel, parameters }, authored }) => ({
      id,
      name: kernel,
      description: authored.hypothesis,
      parameters,
    })),
  ];
}

const listed = (id: string, { kernel: { file }, parameters }: Candidate): ListedKernel => ({
  id,
  name: file.name,
  description: file.description,
  parameters,
});

/** The candidate that an author names: also a rung, if rungs are shown. @throws WarpsmithError `unknown-attempt`. */
export function namedCandidate(turn: Turn, id: string): Candidate {
  const rung = turn.showsRungs ? turn.rungs.find(({ file }) => file.name === id) : undefined;
  return rung ? makeCandidate(rung, {}) : turn.candidate(id);
}

/** The same with its verdict. @throws WarpsmithError also `not-judged`. */
export function judgedCandidate(turn: Turn, id: string): { candidate: Candidate; evaluation: Evaluation } {
  const candidate = namedCandidate(turn, id);
  const attempt = attemptOf(turn.lineage(), candidate.id);
  const evaluation = attempt && turn.evaluationOf(attempt);
  if (!evaluation) throw notJudged(id);
  return { candidate, evaluation };
}

/** The files of a kernel, exactly as edits find them. */
export const filesOfKernel = (turn: Turn, id: string): Readonly<Record<string, string>> =>
  kernelTexts(namedCandidate(turn, id).kernel);
