/** A place where a source text names a file, and the kernels it defines: found by the words alone, before compiling. */

export interface FileReference {
  /** `#include`, `#embed`, `__has_include`, … */
  construct: string;
  /** The name between quotes or angle brackets; absent when it comes from a macro. */
  target?: string;
  line: number;
}

const DIRECTIVE = /^[ \t]*(?:#|%:|\?\?=)[ \t]*(include_next|include|import|embed)\b[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)?/;
const PROBE = /\b(__has_include_next|__has_include|__has_embed)[ \t]*\([ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)?/g;

/** Every construct by which the text asks for another file. */
export function findFileReferences(text: string): FileReference[] {
  const references: FileReference[] = [];
  for (const { line, code } of logicalLines(text)) {
    const directive = DIRECTIVE.exec(code);
    if (directive) references.push(reference(`#${directive[1]}`, directive[2] ?? directive[3], line));
    for (const probe of code.matchAll(PROBE)) references.push(reference(probe[1]!, probe[2] ?? probe[3], line));
  }
  return references;
}

function reference(construct: string, target: string | undefined, line: number): FileReference {
  return target === undefined ? { construct, line } : { construct, target, line };
}

/** Names of the functions declared `__global__`, in order of appearance. */
export function findKernelNames(text: string): string[] {
  const code = withoutComments(text);
  const names = new Set<string>();
  for (const match of code.matchAll(/\b__global__\b/g)) {
    const name = functionNameAfter(code.slice(match.index + match[0].length, match.index + 2000));
    if (name !== undefined) names.add(name);
  }
  return [...names];
}

const NOT_A_NAME = /^(__\w+__|alignas|decltype|noexcept)$/;

/** The first `name(` that isn't an attribute such as `__launch_bounds__(…)`, whose parentheses are skipped. */
function functionNameAfter(code: string): string | undefined {
  const call = /([A-Za-z_]\w*)\s*\(|[;{}]/g;
  for (let match = call.exec(code); match; match = call.exec(code)) {
    if (match[1] === undefined) return undefined;
    if (!NOT_A_NAME.test(match[1])) return match[1];
    call.lastIndex = closingParenthesis(code, call.lastIndex);
  }
  return undefined;
}

function closingParenthesis(code: string, from: number): number {
  let depth = 1;
  let index = from;
  while (index < code.length && depth > 0) {
    if (code[index] === '(') depth++;
    if (code[index] === ')') depth--;
    index++;
  }
  return index;
}

/** Lines with continuations joined and comments blanked; `line` is where each begins, from 1. */
function* logicalLines(text: string): Generator<{ line: number; code: string }> {
  const lines = withoutComments(text).split('\n');
  for (let index = 0; index < lines.length; index++) {
    const line = index + 1;
    let code = lines[index]!;
    while (/\\[ \t\r]*$/.test(code) && index + 1 < lines.length) {
      index++;
      code = code.replace(/\\[ \t\r]*$/, '') + lines[index]!;
    }
    yield { line, code };
  }
}

const COMMENT_OR_LITERAL =
  /\/\/(?:\\\r?\n|[^\n])*|\/\*[\s\S]*?(?:\*\/|$)|R"([^\s()\\]{0,16})\([\s\S]*?\)\1"|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'/g;

/** The same text with comments and raw strings blanked out, line breaks kept. */
export function withoutComments(text: string): string {
  return text.replaceAll(COMMENT_OR_LITERAL, (match) =>
    /^(?:\/[/*]|R")/.test(match) ? match.replaceAll(/[^\n]/g, ' ') : match,
  );
}
