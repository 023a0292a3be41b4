import { isAbsolute, resolve } from 'node:path';
import type { Diagnostic, SourceLocation } from '../core/compiled-code.ts';
import { liesWithin } from './dependency-file.ts';

export interface DiagnosticFolders {
  /** Where the compiler ran; its relative paths start here. */
  working: string;
  /** The copy of the user's files. */
  kernel: string;
  headers: string;
  /** The generated unit. */
  unit: string;
}

export type Origin = 'kernel' | 'headers' | 'unit' | 'none';

export interface RawDiagnostic extends Diagnostic {
  origin: Origin;
  /** The user's `#include` through which the place was reached. */
  includedFrom?: SourceLocation;
}

export const withoutOrigin = ({ origin: _origin, includedFrom: _from, ...diagnostic }: RawDiagnostic): Diagnostic =>
  diagnostic;

const LINE = /^(?:(.+?):(\d+)(?::(\d+))?: )?(fatal error|error|warning|note|remark): (.*)$/;
const INCLUDED_FROM = /^(?:In file included from|\s+from) (.+?):(\d+)[:,]/;

/**
 * Reads clang's text diagnostics. Places in the user's files become relative to the kernel folder; one inside the header
 * pack is moved to the user's line that led there, and says where in the pack it was.
 */
export function parseDiagnostics(text: string, folders: DiagnosticFolders): RawDiagnostic[] {
  const diagnostics: RawDiagnostic[] = [];
  let includedFrom: SourceLocation | undefined;
  for (const line of text.split(/\r?\n/)) {
    const include = INCLUDED_FROM.exec(line);
    if (include) {
      const place = locate(include[1]!, Number(include[2]), undefined, folders);
      if (place.origin === 'kernel') includedFrom = place.location;
      continue;
    }
    const match = LINE.exec(line);
    if (!match) continue;
    diagnostics.push({ ...readDiagnostic(match, folders), includedFrom });
    includedFrom = undefined;
  }
  return diagnostics.map((diagnostic, index) => attributeToUser(diagnostic, diagnostics.slice(index + 1)));
}

function readDiagnostic(match: RegExpExecArray, folders: DiagnosticFolders): RawDiagnostic {
  const [, file, line, column, word, message = ''] = match;
  const severity = word === 'note' || word === 'remark' ? 'note' : word === 'warning' ? 'warning' : 'error';
  const { origin, location } = locate(file, Number(line), column === undefined ? undefined : Number(column), folders);
  return { severity, message, origin, location };
}

/**
 * What is inside the pack takes the place of the first of its notes that is in the user's files, else of the user's
 * `#include`.
 */
function attributeToUser(diagnostic: RawDiagnostic, following: readonly RawDiagnostic[]): RawDiagnostic {
  const { includedFrom, ...rest } = diagnostic;
  if (diagnostic.origin !== 'headers') return rest;
  const message = `${diagnostic.message} (in ${diagnostic.location?.file}:${diagnostic.location?.line})`;
  const end = following.findIndex(({ severity }) => severity !== 'note');
  const notes = diagnostic.severity === 'note' ? [] : following.slice(0, end < 0 ? following.length : end);
  const location = notes.find(({ origin }) => origin === 'kernel')?.location ?? includedFrom;
  return location === undefined ? { ...rest, message } : { ...rest, message, location, origin: 'kernel' };
}

type Located = { origin: Origin; location?: SourceLocation };

const locate = (
  file: string | undefined,
  line: number,
  column: number | undefined,
  folders: DiagnosticFolders,
): Located =>
  file === undefined || file.startsWith('<')
    ? { origin: 'none' }
    : locateFile(file, line, column, folders, [folders.headers]);

/** Whose file a name in a message is, and how the user calls it. */
export function locateFile(
  file: string,
  line: number,
  column: number | undefined,
  folders: DiagnosticFolders,
  headerFolders: readonly string[],
): Located {
  const path = isAbsolute(file) ? file : resolve(folders.working, file);
  const at = (shown: string): SourceLocation => ({ file: shown, line, column });
  if (path === folders.unit) return { origin: 'unit', location: at('kernel.json') };
  if (liesWithin(path, folders.kernel))
    return { origin: 'kernel', location: at(path.slice(folders.kernel.length + 1)) };
  const pack = headerFolders.find((folder) => liesWithin(path, folder));
  if (pack !== undefined) return { origin: 'headers', location: at(path.slice(pack.length + 1)) };
  // No other file is read: the name comes from a #line directive.
  return { origin: 'kernel', location: at(file) };
}
