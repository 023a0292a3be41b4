import type { CompileFailure, CompileOutcome, Diagnostic } from '../core/compiled-code.ts';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { withNotes } from './outcomes.ts';
import type { CompileRequest, Toolchain } from './toolchain.ts';

/** What a note repeats of an error. */
const MOST_CHARACTERS = 200;

/**
 * A toolchain that asks another one for what it does not compile itself: NVRTC takes device code only, and nvcc takes more of what
 * stands beside it. A note in the outcome says so. What neither compiles fails as the first says.
 *
 * @param open opens the other one, when it is first needed; rejects with a WarpsmithError if it is not installed.
 */
export function fallingBack(first: Toolchain, name: string, open: () => Promise<Toolchain>): Toolchain {
  let second: Promise<Toolchain | undefined> | undefined;
  const other = (): Promise<Toolchain | undefined> => {
    second ??= openIfThere(open);
    return second;
  };
  /** By candidate and architecture: it need not fail again each time that the code is asked for. */
  const failed = new Map<string, CompileFailure>();
  return {
    ...first,
    async compile(request) {
      const key = `${request.candidate.id} ${request.architecture}`;
      const outcome = failed.get(key) ?? (await first.compile(request));
      if (outcome.ok || outcome.status !== 'compile-failed') return outcome;
      failed.set(key, outcome);
      const instead = await other();
      if (!instead)
        return withNotes(outcome, note(`${name} may compile more than ${first.identity.name}, but is not here`));
      return compileInstead(request, { first, outcome, instead });
    },
    async close() {
      await first.close?.();
      await (await second)?.close?.();
    },
  };
}

async function openIfThere(open: () => Promise<Toolchain>): Promise<Toolchain | undefined> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof WarpsmithError && error.exitCode === EXIT.deviceOrToolMissing) return undefined;
    throw error;
  }
}

async function compileInstead(
  request: CompileRequest,
  { first, outcome, instead }: { first: Toolchain; outcome: CompileFailure; instead: Toolchain },
): Promise<CompileOutcome> {
  const compiled = await instead.compile(request);
  if (!compiled.ok) return withNotes(outcome, note(`${instead.identity.name} does not compile it, either`));
  const { name, version } = instead.identity;
  const reason = outcome.message.split('\n')[0]!.slice(0, MOST_CHARACTERS);
  return withNotes(
    compiled,
    note(`compiled by ${name} ${version}, because ${first.identity.name} does not: ${reason}`),
  );
}

const note = (message: string): Diagnostic => ({ severity: 'note', message });
