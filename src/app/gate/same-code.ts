import { isDeepStrictEqual } from 'node:util';
import { unlessRefused } from '../../core/errors.ts';
import type { Candidate, Kernel, KernelFile } from '../../core/kernel.ts';
import { type Token, tokenize } from '../../cuda-source/tokens.ts';
import type { Session } from '../session.ts';

/** What a kernel does with its settings. Names, descriptions and remedies are for people and for searches. */
function meaningOf({ name, description, remedies, $schema, parameters = {}, ...meaning }: KernelFile): object {
  const settings = Object.entries(parameters).map(([key, { description: _, ...setting }]) => [key, setting]);
  return { ...meaning, parameters: Object.fromEntries(settings) };
}

/** Code that knows its own line changes with comments above it. */
const KNOWS_ITS_LINE = /\b(?:__LINE__|__builtin_LINE|source_location)\b/;

/** Whether kernels differ in comments and layout at most. */
export function hasSameTokens(one: Kernel, other: Kernel): boolean {
  if (!isDeepStrictEqual(meaningOf(one.file), meaningOf(other.file))) return false;
  const names = Object.keys(one.sources);
  if (!isDeepStrictEqual(names, Object.keys(other.sources))) return false;
  const isCuda = one.file.source.kind === 'cuda';
  return names.every((name) => {
    const [here, there] = [one.sources[name]!, other.sources[name]!];
    return here === there || (isCuda && isSameSource(here, there));
  });
}

/** Whether texts of CUDA C++ differ in comments and layout at most. */
export function isSameSource(one: string, other: string): boolean {
  if (KNOWS_ITS_LINE.test(one)) return false;
  const tokens = tokensOf(one);
  return tokens !== undefined && isDeepStrictEqual(tokens, tokensOf(other));
}

/**
 * The tokens, each with whether a space precedes it: that is all that the compiler sees of layout and comments, where a macro turns its
 * argument into a string. Undefined for a text that can't be read.
 */
function tokensOf(text: string): string[] | undefined {
  // What stands before the first one separates it from nothing.
  let end = text.length;
  return unlessRefused(() => tokenize(text, ''))?.map((token) => {
    const space = token.start > end ? ' ' : '';
    end = token.end;
    return `${space}${token.kind === 'directive' ? directiveText(token) : token.text}`;
  });
}

/** A directive without its comments. In `#define F (x)` the space decides. */
const directiveText = ({ text }: Token): string => `#${(tokensOf(text.slice(1)) ?? [text]).join('')}`;

/** Lines that only debuggers read. */
const FOR_DEBUGGERS = /^\s*(?:\.loc\s.*|\.file\s.*|\$L__(?:tmp|func_begin|func_end|info_string)\w*:)\s*$/gm;
const DEBUG_SECTIONS = /^\s*\.section\s+\.debug\w*\s*\{[^}]*\}/gm;

/** PTX without what names lines of the source. */
const instructionsOf = (ptx: string): string =>
  ptx
    .replaceAll(DEBUG_SECTIONS, '')
    .replaceAll(FOR_DEBUGGERS, '')
    .replaceAll(/\/\/.*$/gm, '')
    .replaceAll(/\s*\n\s*/g, '\n');

/** Whether two kernels compile to the same instructions with their default settings, and are launched alike. */
export async function hasSameInstructions(
  { compile }: Pick<Session, 'compile'>,
  one: Candidate,
  other: Candidate,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const alike = ({ kernel, parameters }: Candidate) => ({ ...meaningOf(kernel.file), source: undefined, parameters });
  if (!compile || !isDeepStrictEqual(alike(one), alike(other))) return false;
  const ptx: string[] = [];
  for (const candidate of [one, other]) {
    const { compiled } = await compile(candidate, signal);
    const text = compiled.ok && (compiled.code.ptx ?? (compiled.code.kind === 'ptx' && compiled.code.text));
    if (!text) return false;
    ptx.push(instructionsOf(text));
  }
  return ptx[0] === ptx[1];
}
