import type { SourceLocation } from '../core/compiled-code.ts';
import type { Origin, RawDiagnostic } from './parse-diagnostics.ts';

/** Whose file a name in a message is, and how the user calls it. */
export type Locate = (file: string, line: number) => { origin: Origin; location?: SourceLocation };

const PLACED = /^(.+?)\((\d+)\): (catastrophic error|internal error|error|warning|note|remark)(?: #\d+(?:-D)?)?: (.*)$/;
const AT_END = /^At end of source: (?:\w+ )?error(?: #\d+(?:-D)?)?: (.*)$/;
/** `ptxas <file>, line 31; error   : …` and `ptxas fatal   : …`. */
const ASSEMBLER = /^ptxas\s+(?:(?:.*?, )?line (\d+); )?(error|fatal|warning)\s*: (.*)$/;
/** `ptxas info    : (C7511) Potential Performance Loss: …`; its other infos are statistics. */
const PERFORMANCE_LOSS = /^ptxas info\s*: (\(C\d+\) Potential Performance Loss: .*)$/;
/** A line of the chain of instantiations below a message. */
const CONTEXT = /\bat line (\d+) of "?([^"\s]+)"?/;

/**
 * Parses the text diagnostics of NVIDIA's compilers (NVRTC, nvcc, ptxas). A diagnostic inside a toolkit header moves to the
 * user's line that led there, and names its origin.
 */
export function parseEdgDiagnostics(text: string, locate: Locate): RawDiagnostic[] {
  const diagnostics: RawDiagnostic[] = [];
  for (const line of text.split(/\r?\n/)) {
    const diagnostic = readLine(line, locate);
    if (diagnostic) diagnostics.push(diagnostic);
    else attribute(diagnostics.at(-1), line, locate);
  }
  return diagnostics;
}

function readLine(line: string, locate: Locate): RawDiagnostic | undefined {
  const placed = PLACED.exec(line);
  if (placed) {
    const [, file = '', number, word = '', message = ''] = placed;
    const severity = word.includes('error') ? 'error' : word === 'warning' ? 'warning' : 'note';
    return { severity, message, ...locate(file, Number(number)) };
  }
  const atEnd = AT_END.exec(line);
  if (atEnd) return { severity: 'error', message: atEnd[1]!, origin: 'none' };
  const loss = PERFORMANCE_LOSS.exec(line);
  if (loss) return { severity: 'note', message: `the assembler says: ${loss[1]!}`, origin: 'none' };
  const assembler = ASSEMBLER.exec(line);
  if (!assembler || assembler[3]!.startsWith('Ptx assembly aborted')) return undefined;
  const [, number, word, message] = assembler;
  const place = number === undefined ? '' : ` (line ${number} of the PTX)`;
  const severity = word === 'warning' ? 'warning' : 'error';
  return { severity, message: `the assembler says: ${message}${place}`, origin: 'none' };
}

/** The first place of the user's in the chain takes the place of one inside a header. */
function attribute(diagnostic: RawDiagnostic | undefined, line: string, locate: Locate): void {
  if (diagnostic?.origin !== 'headers') return;
  const context = CONTEXT.exec(line);
  const place = context ? locate(context[2]!, Number(context[1])) : undefined;
  if (place?.origin !== 'kernel' || place.location === undefined) return;
  diagnostic.message += ` (in ${diagnostic.location?.file}:${diagnostic.location?.line})`;
  diagnostic.location = place.location;
  diagnostic.origin = 'kernel';
}
