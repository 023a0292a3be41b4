import { posix } from 'node:path';
import type { Diagnostic } from '../core/compiled-code.ts';
import { findFilePragmas, findFileReferences, findHeaderNames } from './scan-source.ts';

/**
 * A kernel may read only its own files and the header pack. This refuses violations in the source text, with file and line;
 * the compile's list of read files reveals those that only the preprocessor can see.
 */
export function findForbiddenReferences(sources: Readonly<Record<string, string>>): Diagnostic[] {
  return Object.entries(sources).flatMap(([file, text]) => [
    ...findFileReferences(text).flatMap(({ construct, target, line }) => {
      const reason = reasonAgainst(file, construct, target);
      return reason === undefined ? [] : [refusal(reason, file, line)];
    }),
    ...findFilePragmas(text).map(({ pragma, line }) =>
      refusal(`pragma \`${pragma}\` is refused: it reaches for files, or for the compiler itself.`, file, line),
    ),
    ...findHeaderNames(text).map(({ name, line }) =>
      refusal(
        `\`${name}\` is refused: no other compiler's headers have it, so it would make another kernel of it.`,
        file,
        line,
      ),
    ),
  ]);
}

const refusal = (message: string, file: string, line: number): Diagnostic => ({
  severity: 'error',
  message,
  location: { file, line },
});

export const ALLOWED =
  'A kernel can include only files of its own folder, listed in kernel.json, and the device headers.';

function reasonAgainst(file: string, construct: string, target: string | undefined): string | undefined {
  if (construct.includes('embed')) return `${construct} is refused: put data into the source or into a buffer.`;
  if (target === undefined) return undefined;
  if (construct === '#line' && /^<[^/]*>$/.test(target)) return undefined;
  if (posix.isAbsolute(target)) return `${construct} of the absolute path \`${target}\` is refused. ${ALLOWED}`;
  const place = posix.join(posix.dirname(file), target);
  if (place === '..' || place.startsWith('../')) {
    return `${construct} of \`${target}\` leaves the kernel's folder. ${ALLOWED}`;
  }
  return undefined;
}

/** Where in the sources a file outside could have come from: the includes whose name is a macro. */
export function locateComputedReference(sources: Readonly<Record<string, string>>): Diagnostic['location'] | undefined {
  for (const [file, text] of Object.entries(sources)) {
    const computed = findFileReferences(text).find(({ target }) => target === undefined);
    if (computed) return { file, line: computed.line };
  }
  return undefined;
}
