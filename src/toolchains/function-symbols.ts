import type { KernelFile } from '../core/kernel.ts';

/**
 * kernel.json names functions as in C++: `softmax`, `attention<64, 128>`. The generated unit takes the address of each.
 * This instantiates templates, and the compiler resolves each name to a symbol. The variables that hold the addresses are
 * removed before code is generated.
 */

const PROBE = '__warpsmith_function_';

/** Names that can stand in the unit without becoming other code. */
const FUNCTION_NAME = /^(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*\s*(?:<[\w\s:,<>+\-*()&.]*>)?$/;

export const isFunctionName = (name: string): boolean => FUNCTION_NAME.test(name) && !/[\r\n]/.test(name);

const HEADER_EXTENSION = /\.(?:cuh|h|hpp|hh|inl|inc)$/;

/** The listed files that are compiled; the others are there to be included. */
export const compiledFiles = (file: KernelFile): string[] =>
  file.source.files.filter((name) => !HEADER_EXTENSION.test(name));

export interface CompileUnit {
  text: string;
  /** What a line of the unit stands for. */
  meaning(line: number): { function: string } | { endOf: string } | undefined;
}

export interface UnitStyle {
  /** Lines before everything else. */
  prologue?: readonly string[];
  /** What `#include` names the file by. */
  include?(file: string): string;
  /** The declaration that asks for a function; none where the compiler is asked in another way. */
  probe?(name: string, index: number): string | undefined;
}

/** Reads the address of the function, which clang folds into a constant. */
const addressProbe = (name: string, index: number) =>
  `extern "C" __device__ const void* ${PROBE}${index} = (const void*)&${name};`;

/** C++ that includes every source file, then asks for each function. */
export function generateUnit(
  files: readonly string[],
  functions: readonly string[],
  { prologue = [], include = (file) => `kernel/${file}`, probe = addressProbe }: UnitStyle = {},
): CompileUnit {
  // A namespace can only follow complete declarations: an error there means that the file before it ends too early.
  const includes = files.flatMap((file) => [`#include "${include(file)}"`, 'namespace {}']);
  const probes = functions.map((name, index) => probe(name, index)).filter((line) => line !== undefined);
  return {
    text: [...prologue, ...includes, ...probes, ''].join('\n'),
    meaning(line) {
      const place = line - 1 - prologue.length;
      const file = files[Math.floor(place / 2)];
      if (place >= 0 && file !== undefined) return { endOf: file };
      const name = functions[place - includes.length];
      return name === undefined ? undefined : { function: name };
    },
  };
}

/** Reads the symbols off the probes and removes the probes from the IR. */
export function takeFunctionSymbols(
  ir: string,
  functions: readonly string[],
): { ir: string; functionSymbols: Record<string, string> } {
  const functionSymbols: Record<string, string> = {};
  const withoutProbes = ir.replaceAll(
    /^@__warpsmith_function_(\d+) = .*?\bptr @("?)([^",\s]+)\2.*\n/gm,
    (_line, index: string, _quote, symbol: string) => {
      functionSymbols[functions[Number(index)]!] = symbol;
      return '';
    },
  );
  return { ir: dropFromUsedLists(withoutProbes), functionSymbols };
}

/**
 * Device functions that take structs by value become local to the unit, so that they vanish once they are inlined. On the body of
 * one that stays, clang 21 often fails with short pointers: "Copy one register into another with a different width".
 */
export const hideStructTakers = (ir: string): string =>
  ir.replaceAll(/^define dso_local (?!ptx_kernel\b)(?=.*\bbyval\()/gm, 'define internal ');

/** Kernels that no step launches become local to the unit, so that they vanish before code is generated. */
export function hideOtherKernels(ir: string, functionSymbols: Readonly<Record<string, string>>): string {
  const launched = new Set(Object.values(functionSymbols));
  return ir.replaceAll(
    /^define (?:dso_local |weak_odr )*(ptx_kernel void @"?)([^"(]+)(.*?)(?: comdat)?( [^()]*\{)$/gm,
    (line, head: string, symbol: string, rest: string, tail: string) =>
      launched.has(symbol) ? line : `define internal ${head}${symbol}${rest}${tail}`,
  );
}

function dropFromUsedLists(ir: string): string {
  return ir.replaceAll(
    /^(@llvm\.(?:compiler\.)?used = appending global )\[\d+ x ptr\] \[(.*)\](, section "llvm\.metadata".*)\n/gm,
    (_line, head: string, list: string, tail: string) => {
      const kept = (list.match(/ptr (?:@[^\s,]+|addrspacecast \((?:[^()]|\([^()]*\))*\))/g) ?? []).filter(
        (item) => !item.includes(PROBE),
      );
      return kept.length === 0 ? '' : `${head}[${kept.length} x ptr] [${kept.join(', ')}]${tail}\n`;
    },
  );
}
