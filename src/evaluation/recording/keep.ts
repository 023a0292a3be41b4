import type { EvaluationArtifacts, KeepRequest } from '../../core/artifacts.ts';
import type { CompiledCode } from '../../core/compiled-code.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../core/evaluation.ts';
import { disassemble, WITHOUT_PTX } from '../../toolchains/disassemble.ts';
import type { Toolchain } from '../../toolchains/toolchain.ts';

export interface KeepingOptions {
  /** The compiled code of an evaluated candidate. `evaluator` returns it again without compiling. */
  readonly toolchain: Toolchain;
  readonly architecture: string;
  /** Replaces the toolkit's disassembler in tests. */
  readonly disassemble?: typeof disassemble;
}

/** Whether any code ran. A candidate refused earlier is not compiled just to keep its code. */
const wasRun = ({ elapsedMs, repeated, coverage }: Evaluation): boolean =>
  elapsedMs.verify > 0 || (repeated !== undefined && coverage !== undefined);

/** Keeps the code of candidates that `evaluator` judges, if the request says so, after all timing. */
export const createKeepingEvaluator = (evaluator: Evaluator, options: KeepingOptions): Evaluator => ({
  async evaluate(request) {
    const evaluation = await evaluator.evaluate(request);
    const { keep, signal } = request;
    if (!keep || signal?.aborted || !wasRun(evaluation)) return evaluation;
    const code = await codeOf(request, options);
    if (!code) return evaluation;
    return { ...evaluation, artifacts: await keepCode(code, keep, options.disassemble ?? disassemble) };
  },
  estimate: evaluator.estimate,
  prepare: (candidates) => evaluator.prepare?.(candidates),
  close: () => evaluator.close(),
});

async function codeOf(
  { candidate }: EvaluationRequest,
  { toolchain, architecture }: KeepingOptions,
): Promise<CompiledCode | undefined> {
  const compiled = await toolchain.compile({ candidate, architecture });
  return compiled.ok ? compiled.code : undefined;
}

async function keepCode(
  code: CompiledCode,
  { store, sass }: KeepRequest,
  print: typeof disassemble,
): Promise<EvaluationArtifacts> {
  const ptx = code.kind === 'ptx' ? code.text : code.ptx;
  const printed = sass ? await print(code) : undefined;
  const notes = printed?.notes ?? (ptx === undefined ? [WITHOUT_PTX] : []);
  return {
    ptx: ptx !== undefined ? store.put(ptx) : undefined,
    sass: printed?.sass !== undefined ? store.put(printed.sass) : undefined,
    notes: notes.length > 0 ? notes : undefined,
  };
}
