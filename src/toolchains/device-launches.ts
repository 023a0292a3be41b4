import type { Diagnostic } from '../core/compiled-code.ts';
import { blank, withoutComments } from './scan-source.ts';

/** A `kernel<<<…>>>(…)` in a source text. */
interface Launch {
  line: number;
  /** Whether it stands in a function that runs on the GPU. */
  inDeviceCode: boolean;
  /** The definition of the function around it, as a range of the text. */
  start: number;
  end: number;
}

const MESSAGE =
  "a kernel can't launch kernels: list every launch as a step in kernel.json, where the grid may depend on dimensions";

/** Launches from device code. What only a macro or the binary shows is caught when the code is loaded. */
export function findDeviceLaunches(sources: Readonly<Record<string, string>>): Diagnostic[] {
  return Object.entries(sources).flatMap(([file, text]) =>
    findLaunches(text)
      .filter(({ inDeviceCode }) => inDeviceCode)
      .map(({ line }) => ({ severity: 'error' as const, message: MESSAGE, location: { file, line } })),
  );
}

/**
 * The text without the host functions that launch kernels (line breaks kept), for compilers that take device code only.
 * None of them would ever run.
 */
export function withoutHostLaunchers(text: string): string {
  let shown = text;
  for (const { inDeviceCode, start, end } of findLaunches(text)) {
    if (inDeviceCode) continue;
    shown = shown.slice(0, start) + blank(shown.slice(start, end)) + shown.slice(end);
  }
  return shown;
}

interface Block {
  /** What stands between the end of the previous declaration and the brace. */
  header: string;
  start: number;
}

const CONTAINER = /\b(?:namespace|struct|class|union)\b|\bextern\s*$/;
const DEVICE = /\b__(?:global|device)__\b/;

function findLaunches(text: string): Launch[] {
  if (!text.includes('<<<')) return [];
  const code = onlyCode(text);
  const launches: Launch[] = [];
  const blocks: Block[] = [];
  let start = 0;
  for (let index = 0; index < code.length; index++) {
    const character = code[index];
    if (character === '{') blocks.push({ header: code.slice(start, index), start });
    if (character === '}') blocks.pop();
    if (character === '{' || character === '}' || character === ';') start = index + 1;
    if (code.startsWith('<<<', index)) {
      launches.push(describe(code, index, blocks));
      index += 2;
    }
  }
  return launches;
}

function describe(code: string, index: number, blocks: readonly Block[]): Launch {
  const around = blocks.find(({ header }) => !CONTAINER.test(header) || header.includes('('));
  const start = around === undefined ? index : around.start + leadingSpace(around.header);
  return {
    line: code.slice(0, index).split('\n').length,
    inDeviceCode: blocks.some(({ header }) => DEVICE.test(header)),
    start,
    end: around === undefined ? index : endOfBlock(code, around.start + around.header.length),
  };
}

const leadingSpace = (header: string) => header.length - header.trimStart().length;

function endOfBlock(code: string, opening: number): number {
  let depth = 0;
  for (let index = opening; index < code.length; index++) {
    if (code[index] === '{') depth++;
    if (code[index] === '}' && --depth === 0) return index + 1;
  }
  return code.length;
}

/** Comments, literals and preprocessor directives blanked out; every other character stays in its place. */
function onlyCode(text: string): string {
  return withoutComments(text)
    .replaceAll(/"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'/g, blank)
    .replaceAll(/^[ \t]*#(?:\\\r?\n|[^\n])*/gm, blank);
}
