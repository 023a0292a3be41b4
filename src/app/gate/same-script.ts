/** A reference that may read its own text, of which comments are a part, or the numbers of its lines. */
const KNOWS_ITS_TEXT = /\b(?:toString|stack|prepareStackTrace|meta|readFile\w*)\b/;

/**
 * Whether texts of TypeScript or JavaScript differ in comments, indentation and empty lines at most. `false` where that can't be told
 * without a parser: templates, and slashes that may begin a regular expression.
 */
export function isSameScript(one: string, other: string): boolean {
  if (KNOWS_ITS_TEXT.test(one)) return false;
  const code = codeOf(one);
  return code !== undefined && code === codeOf(other);
}

const PART =
  /(?<gap>(?:\s|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)+)|(?<text>'(?:[^'\\\n\r]|\\[\s\S])*'|"(?:[^"\\\n\r]|\\[\s\S])*")|(?<word>[\p{ID_Continue}$]+)|(?<sign>[\s\S])/gu;

const LINE_END = /[\n\r\u2028\u2029]/;
/** Words behind which a slash begins a regular expression, or may do so. */
const KEYWORD =
  /^(?:await|case|delete|do|else|extends|in|instanceof|new|of|return|throw|typeof|void|yield|if|while|for|with)$/;
/** Words whose parentheses may be followed by a statement. */
const HEAD = /^(?:if|while|for|with)$/;
/** Signs with which no code of ours goes on, so that what follows may be anything: a template, a comment without an end. */
const UNREADABLE = /^['"`\\#]$/;

/** The code with one character for each gap, which tells whether it ends a line; `undefined` where it can't be told from a regular expression. */
function codeOf(script: string): string | undefined {
  const code: string[] = [];
  /** For each open parenthesis whether a statement may follow where it closes. */
  const heads: boolean[] = [];
  /** Whether a slash divides what stands before it. */
  let divides = false;
  let lastWord = '';
  for (const { groups } of script.matchAll(PART)) {
    const { gap, text, word, sign } = groups!;
    if (gap !== undefined) {
      code.push(LINE_END.test(gap) ? '\n' : ' ');
      continue;
    }
    code.push(text ?? word ?? sign!);
    if (sign === undefined) divides = text !== undefined || !KEYWORD.test(word!);
    else if (UNREADABLE.test(sign) || (sign === '/' && !divides)) return undefined;
    else if (sign === '(') heads.push(HEAD.test(lastWord));
    if (sign !== undefined) divides = sign === ']' || (sign === ')' && heads.pop() === false);
    lastWord = word ?? '';
  }
  return code.join('').trim();
}
