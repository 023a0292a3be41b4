import {
  type CompiledCode,
  type CompileOutcome,
  type Diagnostic,
  ptxOf,
  type SourceLocation,
} from '../core/compiled-code.ts';
import { onceFor, rememberedAt } from '../core/once-for.ts';
import { PtxSyntaxError, UnsupportedPtxError } from '../ptx/errors.ts';
import { type ModuleTraits, readTraits } from '../ptx/module-traits.ts';
import { instructionsBeforeWait, leadsTo, type MemoryAccess, memoryAccesses } from '../ptx/parameter-accesses.ts';
import { parsePtx } from '../ptx/parse.ts';
import { elfSections, undefinedSymbols } from './elf.ts';
import { refuse, withNotes } from './outcomes.ts';

/** Code that is refused, for any compiler, and code that adds a note to the evaluation. */
export interface ModuleVerdict {
  /** Why it is refused. */
  readonly refusal?: string;
  readonly notes: readonly Diagnostic[];
}

/** Functions of the driver that are no more than a message. */
const HARMLESS = new Set(['vprintf', '__assertfail']);
const HEAP = /^(?:malloc|free|cudaMalloc|cudaFree|__nv_(?:malloc|free)\w*)$/;
const LAUNCH = /^(?:cuda\w+|__cudaCDP\w+|cnp\w+|__cuda_syscall_\w+)$/;

/**
 * Registers that tell one launch from another, and nothing a kernel could compute with. Not %envreg1 and 2: through them,
 * cooperative groups find the barrier of a grid.
 */
const REFUSED_REGISTERS = /^%(?:gridid|envreg(?![12]$)\d+|pm\d+(?:_64)?|current_graph_exec)$/;

const TELLS_OF: readonly [RegExp, string][] = [
  [/^%clock/, 'the clock'],
  [/^%globaltimer/, 'the time of day'],
  [/^%n?smid$|^%n?warpid$/, 'where it runs on the GPU'],
  [/^%envreg[12]$/, 'what the driver keeps for the barrier of a cooperative grid, which outlives a launch'],
];

/** By its text: the code of a kernel that is measured beside many others comes as a new object every time. */
const read = new Map<string, ModuleTraits | PtxSyntaxError>();
const MOST_READ = 16;

/** Examines a module's PTX, or a cubin's symbols if there is no PTX. */
export const judgeModule = onceFor(judge);

/** Turns forbidden code into a refusal; otherwise adds notes to its diagnostics. */
export function screenModule(outcome: CompileOutcome): CompileOutcome {
  if (!outcome.ok) return outcome;
  const { refusal, notes } = judgeModule(outcome.code);
  if (refusal !== undefined) {
    const { code, elapsedMs } = outcome;
    const diagnostics = [...code.diagnostics, { severity: 'error' as const, message: refusal }];
    return { ...refuse('invalid', refusal, diagnostics), elapsedMs };
  }
  return notes.length === 0 ? outcome : withNotes(outcome, ...notes);
}

/** Whether a kernel may wait for the launch before it; true if its code can't be read. */
export function mayWaitForLaunch(code: CompiledCode, symbol: string): boolean {
  const traits = traitsOf(code);
  return !isRead(traits) || traits.waitingKernels.includes(symbol);
}

/** By the parameter that leads there, counted from 0: where the first such access lies. */
export type PlacesByParameter = ReadonlyMap<number, SourceLocation | 'somewhere'>;

/** What a kernel does with what its parameters point to. */
export interface KernelAccesses {
  readonly readsBeforeWait: PlacesByParameter;
  readonly writes: PlacesByParameter;
}

/** By kernel and text, as {@link read}. */
const accesses = new Map<string, KernelAccesses>();
const NONE_KNOWN: KernelAccesses = { readsBeforeWait: new Map(), writes: new Map() };

/** As far as addresses follow from parameters: a pointer that is loaded from memory leads nowhere here, and none are known where code can't be read. */
export function kernelAccesses(code: CompiledCode, symbol: string): KernelAccesses {
  const ptx = ptxOf(code);
  if (ptx === undefined) return NONE_KNOWN;
  return rememberedAt(accesses, `${symbol}\n${ptx}`, () => readAccesses(ptx, symbol), MOST_READ);
}

function readAccesses(ptx: string, symbol: string): KernelAccesses {
  try {
    const { fn, accesses: all } = memoryAccesses(parsePtx(ptx), symbol);
    const isBeforeWait = instructionsBeforeWait(fn);
    const placesOf = (chosen: readonly MemoryAccess[]): PlacesByParameter =>
      new Map(
        fn.parameters.flatMap(({ name }, index) => {
          const access = chosen.find(({ origins }) => leadsTo(origins, name));
          return access ? [[index, access.instruction.source ?? 'somewhere'] as const] : [];
        }),
      );
    return {
      readsBeforeWait: placesOf(all.filter(({ how, instruction }) => how !== 'write' && isBeforeWait.has(instruction))),
      writes: placesOf(all.filter(({ how }) => how !== 'read')),
    };
  } catch (error) {
    if (error instanceof PtxSyntaxError || error instanceof UnsupportedPtxError) return NONE_KNOWN;
    throw error;
  }
}

/** What of a module outlives a launch. */
export interface ModuleState {
  /** Names of all its variables, as far as its PTX tells. */
  readonly variables: readonly string[];
  /** The module has no others. */
  readonly isComplete: boolean;
}

/** Whether some variable keeps data of a launch. True if the code can't be read. */
export const hasWritableVariables = (code: CompiledCode): boolean => stateOf(code) !== undefined;

/** What outlives a launch of this code; undefined when nothing does. */
export const stateOf = onceFor((code: CompiledCode): ModuleState | undefined => {
  const traits = traitsOf(code);
  return code.kind === 'ptx' ? ptxState(traits) : cubinState(Buffer.from(code.text, 'base64'), traits);
});

/** What its text tells of code before it is loaded. */
export interface CodeReading {
  /** What outlives a launch; undefined when nothing does. */
  readonly state: ModuleState | undefined;
  /** Whether its launches may leave lines in L2 that persist. */
  readonly keepsLines: boolean;
}

const KEEPS_LINES = new Set(['createpolicy', 'cache_hint', 'evict_last']);

export function readCode(code: CompiledCode): CodeReading {
  const traits = traitsOf(code);
  return {
    state: stateOf(code),
    keepsLines: !isRead(traits) || traits.cacheHints.some((hint) => KEEPS_LINES.has(hint)),
  };
}

/** See {@link ModuleTraits}; false where its PTX is not known. */
export function hasPartialBarriers(code: CompiledCode): boolean {
  const traits = traitsOf(code);
  return isRead(traits) && traits.hasPartialBarriers;
}

/** What was made of a module's PTX; undefined if it has none. */
type Read = ModuleTraits | PtxSyntaxError | undefined;

const isRead = (traits: Read): traits is ModuleTraits => traits !== undefined && !(traits instanceof PtxSyntaxError);

function ptxState(traits: Read): ModuleState | undefined {
  if (!isRead(traits)) return { variables: [], isComplete: false };
  return traits.hasVariables ? { variables: traits.variables, isComplete: true } : undefined;
}

function judge(code: CompiledCode): ModuleVerdict {
  const traits = traitsOf(code);
  if (traits instanceof PtxSyntaxError) return { refusal: `the PTX can't be read: ${traits.message}`, notes: [] };
  if (!traits) return judgeCubin(code);
  const refusal = refusalOf(traits.externalFunctions) ?? refusalOfRegisters(traits.specialRegisters);
  return { refusal, notes: notesOn(traits) };
}

/** Of a module of machine code alone there are its symbols; which registers it reads can't be seen. */
function judgeCubin(code: CompiledCode): ModuleVerdict {
  const message = 'machine code without its PTX: whether it reads clocks, the grid’s number or its SM can’t be seen';
  const notes = [{ severity: 'note' as const, message }];
  try {
    const symbols = undefinedSymbols(Buffer.from(code.text, 'base64'));
    const refusal = refusalOf(symbols.filter((name) => HEAP.test(name) || LAUNCH.test(name)));
    return { refusal, notes };
  } catch (error) {
    if (error instanceof RangeError) return { refusal: `the cubin can't be read: ${error.message}`, notes: [] };
    throw error;
  }
}

/** Reading a megabyte of PTX takes a tenth of a second: each is read once. */
function traitsOf(code: CompiledCode): Read {
  const ptx = ptxOf(code);
  return ptx === undefined ? undefined : rememberedAt(read, ptx, () => readOnce(ptx), MOST_READ);
}

function readOnce(ptx: string): ModuleTraits | PtxSyntaxError {
  try {
    return readTraits(ptx);
  } catch (error) {
    if (error instanceof PtxSyntaxError) return error;
    throw error;
  }
}

function refusalOf(functions: readonly string[]): string | undefined {
  const name = functions.find((found) => !HARMLESS.has(found));
  if (name === undefined) return undefined;
  if (HEAP.test(name)) {
    return `it uses the device heap (${name}), which outlives a launch; declare a workspace in kernel.json instead`;
  }
  if (LAUNCH.test(name)) {
    return `it calls the device runtime (${name}); only launches listed in kernel.json are run, because others could not be checked or counted`;
  }
  return `it calls ${name}, which it does not define`;
}

function refusalOfRegisters(registers: readonly string[]): string | undefined {
  const name = registers.find((register) => REFUSED_REGISTERS.test(register));
  return name === undefined
    ? undefined
    : `it reads ${name}, which tells one launch from another; no result depends on that`;
}

function notesOn({ specialRegisters: registers, cacheHints }: ModuleTraits): Diagnostic[] {
  const hints = cacheHints.join(', ');
  const message = `says itself what L2 keeps (${hints}): beside other kernels its time may differ more than usual`;
  const tells = TELLS_OF.flatMap(([pattern, what]) => {
    const read = registers.filter((register) => pattern.test(register));
    if (read.length === 0) return [];
    const message = `reads ${read.join(', ')}: what it does may depend on ${what}`;
    return [{ severity: 'note' as const, message }];
  });
  return cacheHints.length === 0 ? tells : [...tells, { severity: 'note', message }];
}

const SHF_WRITE_OR_ALLOC = 1 | 2;

/** Symbols in device memory that are not variables that outlive a launch. Names as nvcc writes them. */
const STATELESS = /^\.(?:text|nv\.constant\d+|nv\.shared|nv\.local)(?:\.|$)/;
/** `__constant__` variables, whose addresses PTX shows to be taken or not. */
const CONSTANTS = /^\.nv\.constant3(?:\.|$)/;

/**
 * Non-empty sections of device memory that may hold variables, and more than the PTX's that no code names.
 * Source: the ELF specification.
 */
function cubinState(elf: Buffer, traits: Read): ModuleState | undefined {
  const known = isRead(traits) ? traits : undefined;
  const variables = known?.variables ?? [];
  const isConstantState = known?.hasVariables ?? true;
  try {
    const sections = elfSections(elf).filter(
      ({ name, flags, bytes }) =>
        bytes > 0 &&
        (flags & SHF_WRITE_OR_ALLOC) !== 0 &&
        (!STATELESS.test(name) || (isConstantState && CONSTANTS.test(name))),
    );
    const sectionBytes = sections.reduce((sum, { bytes }) => sum + bytes, 0);
    const isComplete = known !== undefined && sectionBytes <= known.variableBytes;
    const isCertain = traits instanceof PtxSyntaxError || known?.hasVariables === true;
    return isCertain || !(isComplete || sections.length === 0) ? { variables, isComplete } : undefined;
  } catch (error) {
    // Unreadable code counts as having more variables than can be named.
    if (error instanceof RangeError) return { variables: [], isComplete: false };
    throw error;
  }
}
