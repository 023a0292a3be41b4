import type { PtxInstruction } from '../ptx/ast.ts';
import { UnsupportedPtxError } from '../ptx/errors.ts';

/** The virtual GPU does not know this instruction. It never continues after a warning. */
export const unsupported = (instruction: PtxInstruction, why = 'is not implemented on the virtual GPU'): Error =>
  new UnsupportedPtxError(
    instruction.text,
    instruction.ptxLine,
    instruction.source ? `${why} (${instruction.source.file}:${instruction.source.line})` : why,
  );
