import type { Candidate, KernelFile } from '../../core/kernel.ts';

/** An identifier, a number, or one other character. */
const TOKEN = /[A-Za-z_]\w*|\.?\d[\w.]*|[^\s\w]/g;
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const IS_NAME = /^[A-Za-z_]/;

/** Words before a name that do not declare it. */
const NO_TYPE = new Set(
  'return else case goto typename template struct class namespace using const volatile static constexpr extern inline unsigned signed __shared__ __restrict__ __device__ __global__ __constant__'.split(
    ' ',
  ),
);

/**
 * A kernel without what does not change it: comments, white space, the names of its variables, and in kernel.json names,
 * descriptions and the values that parameters may have. Two kernels with the same skeleton differ in nothing that is worth an
 * evaluation: a search finds the values.
 */
export function skeletonOf({ kernel: { file, sources } }: Candidate): string {
  const { source } = file;
  const listed = [...source.files, ...(source.includes ?? [])].map((name) => tokensOf(sources[name] ?? ''));
  const own = namesDeclaredIn(listed.flat(), Object.keys(file.parameters ?? {}));
  const numbers = new Map<string, string>();
  const anonymous = (token: string): string => {
    if (!own.has(token)) return token;
    const known = numbers.get(token) ?? `$${numbers.size}`;
    numbers.set(token, known);
    return known;
  };
  const text = listed.map((tokens) => tokens.map(anonymous).join(' ')).join('\n');
  return `${text}\n${tokensOf(launchesOf(file)).map(anonymous).join(' ')}`;
}

function launchesOf({ steps, workspaces, constraints, limits, source }: KernelFile): string {
  return JSON.stringify({ steps, workspaces, constraints, limits, flags: source.flags });
}

const tokensOf = (text: string): string[] => text.replace(COMMENT, ' ').match(TOKEN) ?? [];

/** Names that follow a type, as in `float sum`, `T* row`, `auto &x`; not those of functions. */
function namesDeclaredIn(tokens: readonly string[], parameters: readonly string[]): ReadonlySet<string> {
  const names = new Set(parameters);
  for (const [index, token] of tokens.entries()) {
    const [before, after] = [tokens[index - 1] ?? '', tokens[index + 1] ?? ''];
    const followsType = (IS_NAME.test(before) && !NO_TYPE.has(before)) || ['*', '&', '>'].includes(before);
    if (IS_NAME.test(token) && followsType && ['=', ';', ',', ')', '[', ':'].includes(after)) names.add(token);
  }
  return names;
}
