import type { CompiledCode } from '../../../core/compiled-code.ts';
import type { KernelResources } from '../../../core/counters.ts';
import type { DeviceFailure, LoadedModule } from '../../../core/device-values.ts';
import { NativeMemory, textOf } from '../../../ffi/native-memory.ts';
import { parsePtx } from '../../../ptx/parse.ts';
import type { CodeReading } from '../../../toolchains/module-policy.ts';
import { failure } from '../../failure.ts';
import type { FunctionParameter } from '../../match-arguments.ts';
import { FUNCTION_ATTRIBUTE, JIT_OPTION } from '../driver/constants.ts';
import type { Driver } from '../driver/driver.ts';
import { CudaError, meaningOf } from '../driver/results.ts';
import { releaseVariables, type SavedVariables, saveVariables } from './saved-variables.ts';

/** A loaded function. */
export interface CudaFunction {
  readonly handle: bigint;
  /** Undefined when the driver is too old to tell. */
  readonly parameters: readonly FunctionParameter[] | undefined;
  readonly resources: KernelResources;
  readonly maximumThreads: number;
}

/** A loaded module. */
export interface CudaModule extends LoadedModule {
  readonly handle: bigint;
  /** Absent of code that warpsmith wrote itself. */
  readonly reading: CodeReading | undefined;
  /** Some variable keeps what a launch left in it. */
  readonly hasState: boolean;
  /** Initial values of all its variables; undefined if it has none, or if not all can be found. */
  readonly initial: SavedVariables | undefined;
  /** Functions looked up so far, by their symbols. */
  readonly functions: Map<string, CudaFunction>;
}

const LOG_BYTES = 16384;

/** Loads PTX (compiled by the driver) or a cubin. */
export function loadModule(
  driver: Driver,
  code: CompiledCode,
  reading: CodeReading | undefined,
): { ok: true; module: CudaModule } | DeviceFailure {
  const loaded = loadImage(driver, code);
  if (typeof loaded !== 'bigint') return loaded;
  const functions = new Map<string, CudaFunction>();
  const module: CudaModule = {
    code,
    handle: loaded,
    reading,
    hasState: reading?.state !== undefined,
    initial: undefined,
    functions,
    resources: {},
  };
  try {
    const resources = resourcesOf(driver, module);
    const initial = reading?.state && saveVariables(driver, loaded, reading.state);
    return { ok: true, module: { ...module, resources, initial } };
  } catch (error) {
    driver.result('cuModuleUnload', loaded);
    throw error;
  }
}

/** Unloads the module and frees its saved variables. @throws CudaError */
export function unloadModule(driver: Driver, { handle, initial }: CudaModule): void {
  if (initial) releaseVariables(driver, initial);
  driver.call('cuModuleUnload', handle);
}

/** What the functions that kernel.json names occupy. @throws CudaError */
function resourcesOf(driver: Driver, module: CudaModule): Record<string, KernelResources> {
  const resources: Record<string, KernelResources> = {};
  for (const [name, symbol] of Object.entries(module.code.functionSymbols)) {
    const found = findFunction(driver, module, symbol);
    if (found) resources[name] = found.resources;
  }
  return resources;
}

function loadImage(driver: Driver, code: CompiledCode): bigint | DeviceFailure {
  const image =
    code.kind === 'ptx' ? new TextEncoder().encode(`${code.text}\0`) : new Uint8Array(Buffer.from(code.text, 'base64'));
  const log = { error: new NativeMemory(LOG_BYTES), info: new NativeMemory(LOG_BYTES) };
  const options: [number, bigint][] = [
    [JIT_OPTION.errorLog, log.error.address],
    [JIT_OPTION.errorLogBytes, BigInt(LOG_BYTES)],
    [JIT_OPTION.infoLog, log.info.address],
    [JIT_OPTION.infoLogBytes, BigInt(LOG_BYTES)],
    // Line numbers for the tools that map instructions to source.
    ...(code.kind === 'ptx' ? [[JIT_OPTION.lineInfo, 1n] as [number, bigint]] : []),
  ];
  const ids = new NativeMemory(4 * options.length);
  const values = new NativeMemory(8 * options.length);
  options.forEach(([id, value], i) => {
    ids.view.setInt32(4 * i, id, true);
    values.view.setBigUint64(8 * i, value, true);
  });
  const out = new NativeMemory(8);
  const result = driver.result('cuModuleLoadDataEx', out.address, image, options.length, ids.address, values.address);
  if (result === 0) return out.pointer();
  const error = driver.error('cuModuleLoadDataEx', result);
  const reason = textOf(log.error.bytes).trim() || error.message;
  const { status, sentence, sticky } = meaningOf(result);
  if (sticky || status === 'launch-failed')
    return failure('device-failed', `the driver cannot load the code: ${reason}`);
  return failure(status, `${sentence} (${code.architecture}): ${reason}`);
}

/** The function with this symbol, or undefined if there is none. @throws CudaError for other errors. */
export function findFunction(driver: Driver, module: CudaModule, symbol: string): CudaFunction | undefined {
  const known = module.functions.get(symbol);
  if (known) return known;
  let handle: bigint;
  try {
    handle = driver.create('cuModuleGetFunction', module.handle, symbol);
  } catch (error) {
    if (error instanceof CudaError && error.code === NOT_FOUND) return undefined;
    throw error;
  }
  const attribute = (id: number) => driver.integer('cuFuncGetAttribute', id, handle);
  const found: CudaFunction = {
    handle,
    parameters: parametersOf(driver, handle) ?? parametersInText(module.code, symbol),
    maximumThreads: attribute(FUNCTION_ATTRIBUTE.maximumThreadsPerCta),
    resources: {
      registersPerThread: attribute(FUNCTION_ATTRIBUTE.registers),
      registersSource: 'compiler',
      staticSharedBytes: attribute(FUNCTION_ATTRIBUTE.staticSharedBytes),
      dynamicSharedBytes: 0,
      localBytesPerThread: attribute(FUNCTION_ATTRIBUTE.localBytes),
    },
  };
  module.functions.set(symbol, found);
  return found;
}

/** Parameter sizes from the PTX, for drivers before CUDA 12.4, which do not report them. */
function parametersInText(code: CompiledCode, symbol: string): readonly FunctionParameter[] | undefined {
  if (code.kind !== 'ptx') return undefined;
  try {
    return parsePtx(code.text).functions.find(({ name }) => name === symbol)?.parameters;
  } catch {
    return undefined;
  }
}

const NOT_FOUND = 500;
/** Kernels have at most 32,764 bytes of parameters. */
const MAXIMUM_PARAMETERS = 32764;

function parametersOf(driver: Driver, handle: bigint): FunctionParameter[] | undefined {
  const describe = driver.optional.cuFuncGetParamInfo;
  if (!describe) return undefined;
  const offset = new NativeMemory(8);
  const size = new NativeMemory(8);
  const parameters: FunctionParameter[] = [];
  // The first index behind the last parameter gives CUDA_ERROR_INVALID_VALUE.
  while (parameters.length < MAXIMUM_PARAMETERS) {
    if (describe(handle, parameters.length, offset.address, size.address) !== 0) break;
    parameters.push({ sizeBytes: Number(size.pointer()) });
  }
  return parameters;
}
