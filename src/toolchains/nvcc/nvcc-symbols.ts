/**
 * nvcc tells nobody which symbol a C++ name became, and a kernel's address is no constant in device code. But it may be a
 * template argument: the symbol of a variable template `__warpsmith_function<index, &kernel>` holds the kernel's symbol.
 * The variables are removed before the PTX is assembled.
 */

const PROBE = '__warpsmith_function';

/** Declares the probes; needs C++17. */
export const PROBE_TEMPLATE = `template <int index, auto function> __device__ int ${PROBE} = index;`;

/** Instantiates the kernel and leaves a variable whose symbol names it. */
export const symbolProbe = (name: string, index: number): string =>
  `template __device__ int ${PROBE}<${index}, &${name}>;`;

/** `_Z20__warpsmith_functionILi0EXadL_Z…EEE`; of a static kernel, inside a namespace of the unit's and with one more E. */
const PROBE_VARIABLE = new RegExp(
  String.raw`^[^\n]*\b_Z(N\d+_INTERNAL_\w+?)?${PROBE.length}${PROBE}ILi(\d+)EXadL(_Z[\w$]+?)EEE+(?: = [^;]*)?;\n`,
  'gm',
);

export interface NamedPtx {
  ptx: string;
  /** C++ name → symbol; a name that isn't there could not be told. */
  functionSymbols: Record<string, string>;
}

/** Takes the probes out of the PTX and reads the symbols off them. */
export function takeProbes(text: string, functions: readonly string[]): NamedPtx {
  const entries = [...text.matchAll(/^\s*(?:\.\w+\s+)*\.entry\s+([\w$]+)/gm)].map((match) => match[1]!);
  const functionSymbols: Record<string, string> = {};
  for (const name of functions) if (entries.includes(name)) functionSymbols[name] = name;
  const ptx = text.replaceAll(PROBE_VARIABLE, (_line, _unit, index: string, inner: string) => {
    const name = functions[Number(index)]!;
    const symbol = entryOf(inner, entries);
    if (symbol !== undefined) functionSymbols[name] ??= symbol;
    return '';
  });
  return { ptx, functionSymbols };
}

/**
 * The entry that a symbol inside another one stands for. The two differ in back-references (`S_`, `S0_`, …), which count
 * from the start of the whole symbol: there is one component, the probe's own name, before the inner one.
 * Source: Itanium C++ ABI, "Compression".
 */
function entryOf(inner: string, entries: readonly string[]): string | undefined {
  const shifted = inner.replaceAll(/S([0-9A-Z]+)_/g, (_reference, id: string) => backReference(parseInt(id, 36)));
  if (entries.includes(shifted)) return shifted;
  const shape = withoutReferences(inner);
  const alike = entries.filter((entry) => withoutReferences(entry) === shape);
  return alike.length === 1 ? alike[0] : undefined;
}

/** The spelling of the component that was `S<id>_` before one component fell away: ids begin at 0 after `S_`. */
const backReference = (id: number) => (id === 0 ? 'S_' : `S${(id - 1).toString(36).toUpperCase()}_`);
const withoutReferences = (symbol: string) => symbol.replaceAll(/S[0-9A-Z]*_/g, 'S_');
