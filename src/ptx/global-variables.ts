/** Comments and strings, which may hold anything. */
const NOT_CODE = /\/\*[\s\S]*?\*\/|\/\/.*|"[^"]*"/g;

/** `.global` with linking directives before it, but not where it is part of an instruction such as `ld.weak.global`. */
const GLOBAL = /(?<![\w$%.])(?:\.(?:visible|weak|common|extern)\s*)*\.global\b/g;

/**
 * Whether PTX declares variables in global memory, which outlive a launch. `.extern` ones belong to another module, and
 * `.ptr .global` only describes a parameter. Text need not be laid out as compilers do it.
 */
export function declaresGlobalVariables(ptx: string): boolean {
  const code = ptx.replace(NOT_CODE, ' ');
  for (const { 0: found, index } of code.matchAll(GLOBAL)) {
    const isParameter = /\.ptr\s*$/.test(code.slice(Math.max(0, index - LONGEST_GAP), index));
    if (!isParameter && !found.includes('.extern')) return true;
  }
  return false;
}

/** Characters between `.ptr` and `.global` at most. */
const LONGEST_GAP = 64;
