import { makeCandidate } from '../../../core/candidate.ts';
import type { CompiledCode } from '../../../core/compiled-code.ts';
import type { Device } from '../../../core/device.ts';
import type { LoadedModule } from '../../../core/device-values.ts';
import { isFloating } from '../../../core/dtype.ts';
import type { Kernel, KernelSource, ParameterValues } from '../../../core/kernel.ts';
import { listValues } from '../../../core/plan/parameter-values.ts';
import { failedConstraint } from '../../../core/plan/parameters.ts';
import type { Dimensions, Problem, ProblemSource } from '../../../core/problem.ts';
import { decode } from '../../../core/rounding.ts';
import { bindKernelFile, parseProblemFile } from '../../../core/schemas/parse-files.ts';
import { type Amount, evaluateAmount } from '../../../cuda-source/amounts.ts';
import { openDevice } from '../../../devices/open-device.ts';
import { createClangToolchain } from '../../../toolchains/clang.ts';
import type { Toolchain } from '../../../toolchains/toolchain.ts';
import { type RunParts, runAt } from '../probe-limits.ts';
import { couplings, type Tried } from './couplings.ts';

export interface SettingsProbe {
  readonly problem: ProblemSource;
  /** The kernel as the file has it, compiled. */
  readonly original: { readonly kernel: KernelSource; readonly code: CompiledCode };
  /** The same with parameters and constraints. */
  readonly kernel: KernelSource;
  readonly text: string;
  /** Sizes at which the original stays inside its buffers; all settings are compared there. */
  readonly shape: Dimensions;
  /** For each dimension that goes in whole tiles: what a tile may be, likely ones first. */
  readonly tiles: ReadonlyMap<string, readonly Amount[]>;
}

export interface SettingsProbed extends Tried {
  /** Dimension → the tile that held for every verified setting; absent where none did. */
  readonly tiles: ReadonlyMap<string, Amount>;
  /** Why the setting as written does not give the original's results, if so; then nothing else was tried. */
  readonly broken?: string;
}

const PROBE_MS = 60_000;
const RUN_TIMEOUT_MS = 20_000;
const MOST_SETTINGS = 40;

/**
 * Compiles settings and runs them on a small shape of a virtual GPU, to find the values that compute what the original
 * computes, and how large tiles are under them.
 */
export async function probeSettings(probe: SettingsProbe): Promise<SettingsProbed> {
  const [device, toolchain] = await Promise.all([openDevice('virtual:l4'), createClangToolchain()]);
  try {
    return await new Probing(probe, device, toolchain).run();
  } finally {
    await device.close();
    await toolchain.close?.();
  }
}

type Outputs = ReadonlyMap<string, Uint8Array>;

class Probing {
  readonly #probe: SettingsProbe;
  readonly #device: Device;
  readonly #toolchain: Toolchain;
  readonly #problem: Problem;
  readonly #kernel: Kernel;
  readonly #deadline = performance.now() + PROBE_MS;

  get #parameters() {
    return Object.entries(defaultsOf(this.#kernel)).map(([name, value]) => ({ name, value }));
  }

  constructor(probe: SettingsProbe, device: Device, toolchain: Toolchain) {
    this.#probe = probe;
    this.#device = device;
    this.#toolchain = toolchain;
    const file = parseProblemFile(JSON.stringify(probe.problem), 'problem.json');
    this.#problem = { folder: '.', file, reference: async () => ({}) };
    this.#kernel = this.#kernelOf(probe.kernel, probe.text);
  }

  #kernelOf = (kernel: KernelSource, text: string): Kernel => ({
    folder: kernel.name,
    file: bindKernelFile(kernel, undefined, 'kernel.json'),
    sources: { 'kernel.cu': text },
  });

  async run(): Promise<SettingsProbed> {
    const { original, shape } = this.#probe;
    const loaded = await this.#device.load(original.code);
    const expected = loaded.ok
      ? await this.#outputs({ module: loaded.module, kernel: this.#kernelOf(original.kernel, '') }, {}, shape)
      : undefined;
    const written = defaultsOf(this.#kernel);
    const outcome =
      expected === undefined
        ? 'the kernel as written does not run on a small shape'
        : await this.#try(written, expected);
    if (typeof outcome === 'string' || expected === undefined)
      return { verified: [], refused: [], tiles: new Map(), broken: String(outcome) };
    const { verified, refused, modules } = await this.#trySettings(written, expected);
    const tiles = await this.#tiles([written, ...verified], modules);
    return { verified: [written, ...verified], refused, tiles };
  }

  /** Each parameter by itself first; then, for values of which nothing verified, several together. */
  async #trySettings(written: ParameterValues, expected: Outputs) {
    const verified: ParameterValues[] = [];
    const refused: { setting: ParameterValues; reason: string }[] = [];
    const modules = new Map<ParameterValues, LoadedModule>();
    const verifies = async (setting: ParameterValues): Promise<boolean> => {
      if (performance.now() > this.#deadline || verified.length + refused.length >= MOST_SETTINGS) return false;
      const broken = failedConstraint(this.#kernel.file, setting);
      const outcome = broken === undefined ? await this.#try(setting, expected) : `breaks ${broken}`;
      if (typeof outcome === 'string') {
        if (broken === undefined) refused.push({ setting, reason: outcome });
        return false;
      }
      verified.push(setting);
      modules.set(setting, outcome);
      return true;
    };
    const valuesOf = new Map(
      Object.entries(this.#kernel.file.parameters ?? {}).map(
        ([name, { values }]) => [name, listValues(values)] as const,
      ),
    );
    for (const [name, values] of valuesOf) {
      const at = values.indexOf(written[name]!);
      for (let i = at + 1; i < values.length && (await verifies({ ...written, [name]: values[i]! })); ) i++;
      for (let i = at - 1; i >= 0 && (await verifies({ ...written, [name]: values[i]! })); ) i--;
    }
    for (const step of [-1, 1]) {
      // What the smaller ones showed to belong together need not be tried apart in the larger ones.
      const together = verified.length > 0 ? couplings(this.#parameters, { verified, refused }) : [];
      for (const names of subsets([...valuesOf.keys()])) {
        const moved = names.map((name) => [name, neighbour(valuesOf.get(name)!, written[name]!, step)] as const);
        const isKnown = moved.every(([name, value]) => verified.some((setting) => setting[name] === value));
        if (isKnown || moved.some(([, value]) => value === undefined)) continue;
        const setting: ParameterValues = { ...written, ...(Object.fromEntries(moved) as ParameterValues) };
        if (together.some((one) => evaluateAmount(one, (name) => setting[name]) === 0)) continue;
        await verifies(setting);
      }
    }
    return { verified, refused, modules };
  }

  /** The module where results are the same, else why not. */
  async #try(setting: ParameterValues, expected: Outputs): Promise<LoadedModule | string> {
    const candidate = makeCandidate(this.#kernel, setting);
    const compiled = await this.#toolchain.compile({ candidate, architecture: 'sm_89' });
    if (!compiled.ok) return compiled.diagnostics[0]?.message ?? compiled.message;
    const loaded = await this.#device.load(compiled.code);
    if (!loaded.ok) return loaded.message;
    const outputs = await this.#outputs({ module: loaded.module, kernel: this.#kernel }, setting, this.#probe.shape);
    if (outputs === undefined) return 'does not run';
    const differs = [...expected].some(([name, bytes]) => !this.#isSame(name, bytes, outputs.get(name)!));
    return differs ? 'gives other results' : loaded.module;
  }

  async #outputs(
    { module, kernel }: { module: LoadedModule; kernel: Kernel },
    setting: ParameterValues,
    shape: Dimensions,
  ): Promise<Outputs | undefined> {
    const parts: RunParts = {
      device: this.#device,
      module,
      problem: this.#problem,
      kernel,
      parameters: setting,
      timeoutMs: RUN_TIMEOUT_MS,
    };
    const result = await runAt(parts, shape);
    return result?.ok ? result.outputs : undefined;
  }

  /** Sums in another order differ by a few roundings; a kernel that computes something else differs everywhere. */
  #isSame(name: string, a: Uint8Array, b: Uint8Array): boolean {
    const { dtype } = { ...this.#problem.file.outputs, ...this.#problem.file.inputs }[name]!;
    if (Buffer.compare(a, b) === 0) return true;
    if (!isFloating(dtype)) return false;
    const [left, right] = [decode(a, dtype), decode(b, dtype)];
    const scale = left.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);
    const room = scale * (dtype === 'f16' || dtype === 'bf16' ? 2e-2 : 1e-4);
    return left.every((value, i) => Object.is(value, right[i]) || Math.abs(value - right[i]!) <= room);
  }

  async #tiles(
    settings: readonly ParameterValues[],
    modules: ReadonlyMap<ParameterValues, LoadedModule>,
  ): Promise<Map<string, Amount>> {
    const tiles = new Map<string, Amount>();
    for (const [name, candidates] of this.#probe.tiles) {
      for (const tile of candidates) {
        if (!(await this.#holds(name, tile, settings, modules))) continue;
        tiles.set(name, tile);
        break;
      }
    }
    return tiles;
  }

  /** Whether the kernel stays inside at few, odd multiples of this tile, under every setting. */
  async #holds(
    name: string,
    tile: Amount,
    settings: readonly ParameterValues[],
    modules: ReadonlyMap<ParameterValues, LoadedModule>,
  ): Promise<boolean> {
    for (const setting of settings) {
      const module = modules.get(setting);
      if (module === undefined) continue;
      const size = evaluateAmount(tile, (one) => setting[one]);
      if (size === undefined || size < 1 || performance.now() > this.#deadline) return false;
      const shape = {
        ...this.#probe.shape,
        [name]: size * (size < 16 ? 64 / 2 ** Math.floor(Math.log2(size)) + 1 : 3),
      };
      if ((await this.#outputs({ module, kernel: this.#kernel }, setting, shape)) === undefined) return false;
    }
    return true;
  }
}

const defaultsOf = ({ file }: Kernel): ParameterValues =>
  Object.fromEntries(Object.entries(file.parameters ?? {}).map(([name, { default: value }]) => [name, value]));

const neighbour = (values: readonly number[], value: number, step: number): number | undefined =>
  values[values.indexOf(value) + step];

/** Of two names or more, small ones first. */
function subsets(names: readonly string[]): string[][] {
  const all = Array.from({ length: 2 ** names.length }, (_, bits) => names.filter((_name, i) => (bits >> i) & 1));
  return all.filter(({ length }) => length > 1).sort((a, b) => a.length - b.length);
}
