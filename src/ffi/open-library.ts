import koffi from 'koffi';
import { EXIT, WarpsmithError } from '../core/errors.ts';

/** The TypeScript argument of each C type. Pointers and handles are addresses; `bytes` passes the address of the array. */
interface ArgumentTypes {
  i32: number;
  u32: number;
  u64: bigint | number;
  /** A pointer or an opaque handle; 0n is null. */
  address: bigint;
  /** Read or written during the call only. */
  bytes: Uint8Array;
  /** A zero-terminated UTF-8 copy. */
  text: string;
}

interface ResultTypes {
  i32: number;
  u32: number;
  u64: bigint;
  address: bigint;
  /** Returns undefined for a null pointer. */
  text: string | undefined;
  void: undefined;
}

export type ArgumentType = keyof ArgumentTypes;
export type ResultType = keyof ResultTypes;
type Values<A extends readonly ArgumentType[]> = { -readonly [I in keyof A]: ArgumentTypes[A[I]] };
/** A C function as a synchronous function of TypeScript. */
export type NativeFunction<R extends ResultType, A extends readonly ArgumentType[]> = (
  ...values: Values<A>
) => ResultTypes[R];

const C_TYPE: Record<ArgumentType | 'void', string> = {
  i32: 'int32_t',
  u32: 'uint32_t',
  u64: 'uint64_t',
  // All 64-bit platforms pass pointers as they pass integers of their size.
  address: 'uint64_t',
  bytes: 'void *',
  text: 'const char *',
  void: 'void',
};

/** koffi gives small 64-bit integers as numbers. */
const RESULT: Partial<Record<ResultType, (value: unknown) => unknown>> = {
  u64: (value) => BigInt(value as number | bigint),
  address: (value) => BigInt(value as number | bigint),
  text: (value) => value ?? undefined,
};

/** A shared library that stays loaded as long as this process lives. */
export interface NativeLibrary {
  /** The name or path under which it was found. */
  readonly path: string;
  /** @throws WarpsmithError `missing-symbol` when the library has no such function. */
  function<R extends ResultType, const A extends readonly ArgumentType[]>(
    name: string,
    result: R,
    parameters: A,
  ): NativeFunction<R, A>;
  /** As `function`, but returns undefined if the library is too old to have it. */
  optionalFunction<R extends ResultType, const A extends readonly ArgumentType[]>(
    name: string,
    result: R,
    parameters: A,
  ): NativeFunction<R, A> | undefined;
}

export interface LibraryRequest {
  /** Name for messages, e.g. `the NVIDIA driver`. */
  readonly what: string;
  /** Names the loader searches for, or paths; the first that loads is taken. */
  readonly names: readonly string[];
  /** Hint for the user if no library loads. */
  readonly hint: string;
}

type KoffiLibrary = ReturnType<typeof koffi.load>;

/**
 * Opens a shared library and pins it: libraries with threads and exit handlers of their own must never be unloaded.
 * @throws WarpsmithError `missing-library`, with all that was searched.
 */
export function openLibrary(request: LibraryRequest): NativeLibrary {
  const reasons: string[] = [];
  for (const name of request.names) {
    const reason = pin(name);
    if (reason === undefined) return wrap(koffi.load(name), name);
    reasons.push(reason);
  }
  throw new WarpsmithError(
    {
      code: 'missing-library',
      message: `Cannot load ${request.what}: ${reasons.join('; ')}.`,
      expected: request.names.join(' or '),
      hint: request.hint,
    },
    EXIT.deviceOrToolMissing,
  );
}

/** The C library and everything else this process has loaded. */
export function openProcessLibrary(): NativeLibrary {
  return wrap(koffi.load(null), 'this process');
}

function wrap(library: KoffiLibrary, path: string): NativeLibrary {
  const bind: NativeLibrary['function'] = (name, result, parameters) => {
    const list = parameters.map((type) => C_TYPE[type]).join(', ');
    const call = library.func(`${C_TYPE[result]} ${name}(${list || 'void'})`) as (...values: unknown[]) => unknown;
    const convert = RESULT[result];
    return (convert ? (...values: unknown[]) => convert(call(...values)) : call) as never;
  };
  return {
    path,
    function: (name, result, parameters) => {
      try {
        return bind(name, result, parameters);
      } catch (error) {
        throw missingSymbol(name, path, error);
      }
    },
    optionalFunction: (name, result, parameters) => {
      try {
        return bind(name, result, parameters);
      } catch {
        return undefined;
      }
    },
  };
}

/** RTLD_NOW | RTLD_NODELETE of glibc. */
const PINNED = 0x1002;
let loader: { open(name: string, flags: number): bigint; error(): string | undefined } | undefined;

/** Loads a library for good; returns the loader's reason when it cannot. */
function pin(name: string): string | undefined {
  if (loader === undefined) {
    const process = openProcessLibrary();
    loader = {
      open: process.function('dlopen', 'address', ['text', 'i32']),
      error: process.function('dlerror', 'text', []),
    };
  }
  return loader.open(name, PINNED) === 0n ? (loader.error() ?? `${name} could not be loaded`) : undefined;
}

const missingSymbol = (name: string, path: string, cause: unknown): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'missing-symbol',
      message: `${path} has no function ${name} (${cause instanceof Error ? cause.message : cause}).`,
      hint: 'The installed version is too old: update it.',
    },
    EXIT.deviceOrToolMissing,
  );
