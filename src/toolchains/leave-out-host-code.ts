import type { CompileOutcome } from '../core/compiled-code.ts';
import { blankHostCode } from '../cuda-source/cut.ts';
import type { CheckedRequest } from './check-request.ts';
import { withNotes } from './outcomes.ts';

const MOST_NAMES = 8;

/**
 * Compiles the sources as they are. If that fails and host code stands beside the kernels (`main`, launches, `<iostream>`), compiles
 * again with blanks in its place, on the same lines; a note says what was left out.
 *
 * @param hasHeader whether device code can include a header that is not among the sources.
 */
export async function leaveOutHostCode<C extends Pick<CheckedRequest, 'candidate' | 'functions'>>(
  compile: C,
  hasHeader: (name: string) => boolean,
  run: (compile: C) => Promise<CompileOutcome>,
): Promise<CompileOutcome> {
  const whole = await run(compile);
  if (whole.ok || whole.status === 'timed-out') return whole;
  const { candidate, functions } = compile;
  const device = blankHostCode(candidate.kernel.sources, functions, hasHeader);
  if (device === undefined) return whole;
  const kernel = { ...candidate.kernel, sources: device.sources };
  const outcome = await run({ ...compile, candidate: { ...candidate, kernel } });
  const named = device.removed.slice(0, MOST_NAMES).join(', ');
  const more = device.removed.length - MOST_NAMES;
  const message = `left out, because no host code runs: ${named}${more > 0 ? ` and ${more} more` : ''}`;
  return withNotes(outcome, { severity: 'note', message });
}
