import type { Item } from './items.ts';
import { behindBracket } from './parser.ts';
import { type CudaSource, isHostFunction, isKernel, readCudaSource } from './source.ts';

/** A `__constant__` variable that host code fills. */
export interface FilledConstant {
  readonly name: string;
  /** Kernels that use it, by name. */
  readonly kernels: readonly string[];
  /** A function that is no kernel and uses it; then it can't become a parameter. */
  readonly otherUser?: string | undefined;
}

/** Which device code uses a `__constant__` variable. */
export function usersOfConstant(device: CudaSource, name: string): FilledConstant {
  const users = device.items.filter(
    (item) =>
      item.kind === 'function' &&
      !isHostFunction(item) &&
      item.tokens.some((token) => token.kind === 'name' && token.text === name),
  );
  const kernels = users.filter(isKernel).map((item) => item.name);
  return { name, kernels, otherUser: users.find((item) => !isKernel(item))?.name };
}

/**
 * Device code in which `__constant__` variables that the host fills are parameters of their names instead, the last ones of each
 * kernel that uses them: no host code fills them any more. Arrays become pointers; all others are passed by value.
 */
export function constantsAsParameters(text: string, file: string, constants: readonly FilledConstant[]): string {
  return constants.reduce((code, constant) => withParameter(readCudaSource(code, file), constant), text);
}

function withParameter({ text, items }: CudaSource, { name, kernels }: FilledConstant): string {
  const variable = items.find((item) => item.kind === 'variable' && item.name === name)!;
  const parameter = parameterFor(variable, name);
  const edits = items.flatMap((item): { from: number; to: number; by: string }[] => {
    if (item === variable) return [{ from: item.start, to: item.end, by: '' }];
    if (item.kind !== 'function' || !isKernel(item) || !kernels.includes(item.name)) return [];
    const at = closingParenthesis(item);
    return [{ from: at, to: at, by: item.function!.parameters.length > 0 ? `, ${parameter}` : parameter }];
  });
  return edits
    .toSorted((a, b) => b.from - a.from)
    .reduce((code, { from, to, by }) => code.slice(0, from) + by + code.slice(to), text);
}

/** `__constant__ float f[5][5];` as `const float (*__restrict__ f)[5]`, `__constant__ int n;` as `const int n`. */
function parameterFor({ tokens }: Item, name: string): string {
  const at = tokens.findIndex(({ text }) => text === name);
  const type = tokens
    .slice(0, at)
    .map(({ text }) => text)
    .filter((word) => !/^(?:__constant__|static|const|extern)$/.test(word))
    .join(' ');
  const open = tokens.findIndex(({ text }, i) => i > at && text === '[');
  if (open < 0) return `const ${type} ${name}`;
  const first = behindBracket(tokens, open);
  const rest = tokens
    .slice(first, -1)
    .map(({ text }) => text)
    .join('');
  return rest === '' ? `const ${type}* __restrict__ ${name}` : `const ${type} (*__restrict__ ${name})${rest}`;
}

/** Offset of the `)` behind a function's parameters. */
function closingParenthesis({ tokens, name }: Item): number {
  const at = tokens.findIndex(({ text }, i) => text === name && tokens[i + 1]?.text === '(');
  return tokens[behindBracket(tokens, at + 1) - 1]!.start;
}
