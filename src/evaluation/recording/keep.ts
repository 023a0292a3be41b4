import type { EvaluationArtifacts, KeepRequest } from '../../core/artifacts.ts';
import { type Beside, beside } from '../../core/beside.ts';
import { type CompiledCode, ptxOf } from '../../core/compiled-code.ts';
import type { Evaluation, EvaluationRequest, Evaluator } from '../../core/evaluation.ts';
import { type Disassembly, disassemble, WITHOUT_PTX } from '../../toolchains/disassemble.ts';
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

/**
 * Keeps the code of candidates that `evaluator` judges, if the request says so. Machine code is printed while the candidate is timed, as
 * others are compiled then.
 */
export const createKeepingEvaluator = (evaluator: Evaluator, options: KeepingOptions): Evaluator => ({
  async evaluate(request) {
    const { keep, signal } = request;
    let printing: Beside<Disassembly | undefined> | undefined;
    const print = () => (printing ??= beside((ending) => printCode(request, options, ending), signal));
    const onStage: EvaluationRequest['onStage'] = (stage) => {
      if (keep?.sass && stage.stage === 'time') print();
      request.onStage?.(stage);
    };
    try {
      const evaluation = await evaluator.evaluate(keep ? { ...request, onStage } : request);
      if (!keep || signal?.aborted || !wasRun(evaluation)) return evaluation;
      const printed = keep.sass ? await print().result() : undefined;
      const code = await codeOf(request, options);
      return code ? { ...evaluation, artifacts: keepCode(code, keep, printed) } : evaluation;
    } finally {
      await printing?.end();
    }
  },
  estimate: evaluator.estimate,
  prepare: (candidates) => evaluator.prepare?.(candidates),
  close: () => evaluator.close(),
});

async function printCode(
  request: EvaluationRequest,
  options: KeepingOptions,
  signal: AbortSignal,
): Promise<Disassembly | undefined> {
  const code = await codeOf(request, options);
  return code && (options.disassemble ?? disassemble)(code, {}, signal);
}

async function codeOf(
  { candidate }: EvaluationRequest,
  { toolchain, architecture }: KeepingOptions,
): Promise<CompiledCode | undefined> {
  const compiled = await toolchain.compile({ candidate, architecture });
  return compiled.ok ? compiled.code : undefined;
}

function keepCode(code: CompiledCode, { store }: KeepRequest, printed: Disassembly | undefined): EvaluationArtifacts {
  const ptx = ptxOf(code);
  const notes = printed?.notes ?? (ptx === undefined ? [WITHOUT_PTX] : []);
  return {
    ptx: ptx !== undefined ? store.put(ptx) : undefined,
    sass: printed?.sass !== undefined ? store.put(printed.sass) : undefined,
    notes: notes.length > 0 ? notes : undefined,
  };
}
