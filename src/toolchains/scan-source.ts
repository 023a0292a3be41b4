/** A place where a source text names a file, and the kernels it defines: found by the words alone, before compiling. */

export interface FileReference {
  /** `#include`, `#embed`, `__has_include`, … */
  construct: string;
  /** The name between quotes or angle brackets; absent when it comes from a macro. */
  target?: string;
  line: number;
}

const DIRECTIVE = /^\s*(?:#|%:)\s*(include_next|include|import|embed)\b\s*(?:"([^"\n]*)"|<([^>\n]*)>)?/;
const PROBE = /\b(__has_include_next|__has_include|__has_embed)\s*\(\s*(?:"([^"\n]*)"|<([^>\n]*)>)?/g;
/** `#line 7 "name"`, and `# 7 "name"` as preprocessors write it. */
const LINE = /^\s*(?:#|%:)\s*(?:line\b)?\s*\d+\s*"((?:[^"\\]|\\.)*)"/;

/** Pragmas by which a compiler reads, lists or hides a file, or is made to fail. */
const FILE_PRAGMA =
  /\b(dependency|pch_preprocess|include_alias|include_instead|system_header|__debug|(?:clang\s+)?module|comment)\b/;
/** Those of them that are no everyday names, for lines of which a macro may make a pragma. */
const OPERATOR_PRAGMA = /\b(dependency|pch_preprocess|include_alias|include_instead|system_header|__debug)\b/;
const PRAGMA = /^\s*(?:#|%:)\s*pragma\b(.*)$/;
const PRAGMA_OPERATOR = /\b(?:_Pragma|__pragma)\b/;

/** Macros of headers/, and the folder of their parts. */
const HEADER_NAME = /\b__(?:WS|WARPSMITH)_\w*|\bwarpsmith\//;

/** Every construct by which the text asks for another file. */
export function findFileReferences(text: string): FileReference[] {
  const references: FileReference[] = [];
  for (const { line, code } of logicalLines(text)) {
    const directive = DIRECTIVE.exec(code);
    if (directive) references.push(reference(`#${directive[1]}`, directive[2] ?? directive[3], line));
    for (const probe of code.matchAll(PROBE)) references.push(reference(probe[1]!, probe[2] ?? probe[3], line));
    const named = LINE.exec(code);
    if (named) references.push({ construct: '#line', target: named[1]!, line });
  }
  return references;
}

/** The pragmas that reach for a file, with their lines. The operand of `_Pragma` may be put together by macros anywhere. */
export function findFilePragmas(text: string): { pragma: string; line: number }[] {
  const lines = [...logicalLines(text)];
  const hasOperator = lines.some(({ code }) => PRAGMA_OPERATOR.test(code));
  return lines.flatMap(({ line, code }) => {
    const written = PRAGMA.exec(code)?.[1];
    const found = written === undefined ? hasOperator && OPERATOR_PRAGMA.exec(code) : FILE_PRAGMA.exec(written);
    return found ? [{ pragma: found[1]!, line }] : [];
  });
}

/** Names that only the device headers of a virtual GPU's compiler have, with their lines. */
export const findHeaderNames = (text: string): { name: string; line: number }[] =>
  [...logicalLines(text)].flatMap(({ line, code }) => {
    const [name] = HEADER_NAME.exec(code) ?? [];
    return name === undefined ? [] : [{ name, line }];
  });

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
  const lines = withoutComments(withoutTrigraphs(text)).split('\n');
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

/** Trigraphs: up to C++14 they mean `#` and a backslash, which may join lines. */
const withoutTrigraphs = (text: string): string => text.replaceAll('??=', '#').replaceAll('??/', '\\');

/** `R"` after a letter, as in `FOOR"(`, is the end of a name and an ordinary string, but for the prefixes of strings. */
const COMMENT_OR_LITERAL =
  /\/\/(?:\\\r?\n|[^\n])*|\/\*[\s\S]*?(?:\*\/|$)|(?:(?<!\w)|(?<=(?<!\w)(?:u8|[uUL])))R"([^\s()\\]{0,16})\([\s\S]*?\)\1"|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'/g;

/** The same text with comments and raw strings blanked out, line breaks kept. */
export function withoutComments(text: string): string {
  return text.replaceAll(COMMENT_OR_LITERAL, (match) => (/^(?:\/[/*]|R")/.test(match) ? blank(match) : match));
}

/** As much white space, on as many lines. */
export const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');
