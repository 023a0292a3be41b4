import type { Device, DeviceBuffer } from '../../../src/core/device.ts';
import type { PlannedArgument } from '../../../src/core/launch-plan.ts';
import { type Cases, disagreement, drawCases, expectedResults, parseForm, warpMask } from './cases.ts';
import type { OpcodeForm } from './forms.ts';
import { kernelText, type Mode, moduleText, WARP_LANES } from './kernel.ts';

/** Why a form fails in a mode: the device's refusal, or the first lanes that disagree. */
export interface FormFailure {
  mode: Mode;
  reason: string;
}

/** Runs a form on the device in each mode and compares every lane with the interpreter. */
export async function failuresOf(
  device: Device,
  form: OpcodeForm,
  modes: readonly Mode[],
  options: { warps: number; seed: number },
): Promise<FormFailure[]> {
  const text = moduleText(modes.map((mode) => kernelText(mode, form, mode)));
  const loaded = await device.load({
    kind: 'ptx',
    text,
    architecture: 'sm_90a',
    compiler: { name: 'test', version: '0' },
    functionSymbols: {},
    key: form.text,
    diagnostics: [],
  });
  if (!loaded.ok) return [{ mode: modes[0]!, reason: loaded.message }];
  const failures: FormFailure[] = [];
  for (const mode of modes) {
    const cases = drawCases(form, mode, mode === 'uniform' ? 1 : options.warps, options.seed);
    const outcome = await launch(device, loaded.module, form, mode, cases);
    const reason = typeof outcome === 'string' ? outcome : firstDisagreements(form, cases, outcome);
    if (reason !== undefined) failures.push({ mode, reason });
  }
  await device.unload(loaded.module);
  return failures;
}

/** The results `[r · threads + t]`, or why there are none. */
async function launch(
  device: Device,
  module: Parameters<Device['run']>[0],
  form: OpcodeForm,
  mode: Mode,
  cases: Cases,
): Promise<BigUint64Array | string> {
  const { threads } = cases;
  const words = packInputs(form, cases);
  const input = await device.allocate({ name: 'in', bytes: words.byteLength, alignmentBytes: 256 });
  const output = await device.allocate({ name: 'out', bytes: form.results.length * threads * 8, alignmentBytes: 256 });
  const buffers = new Map<string, DeviceBuffer>([
    ['in', input],
    ['out', output],
  ]);
  await device.write(input, new Uint8Array(words.buffer));
  const scalars: PlannedArgument[] = cases.sources.map(([value]) => ({
    kind: 'bytes',
    bytes: new Uint8Array(new BigUint64Array([value!]).buffer),
    alignmentBytes: 8,
  }));
  const outcome = await device.run(
    module,
    {
      buffers: [],
      steps: [
        {
          kind: 'launch',
          functionName: mode,
          grid: [threads / WARP_LANES, 1, 1],
          block: [WARP_LANES, 1, 1],
          dynamicSharedBytes: 0,
          cooperative: false,
          programmaticDependent: false,
          arguments: [
            { kind: 'buffer', buffer: 'in', offsetBytes: 0 },
            { kind: 'buffer', buffer: 'out', offsetBytes: 0 },
            { kind: 'scalar', dtype: 'u32', value: threads },
            ...(mode === 'uniform' ? scalars : []),
          ],
        },
      ],
    },
    buffers,
    { orderSeed: 0, count: false, timeoutMs: 20_000 },
  );
  const bytes = await device.read(output);
  await device.free(input);
  await device.free(output);
  return outcome.ok ? new BigUint64Array(bytes.buffer) : `${outcome.status}: ${outcome.message}`;
}

function packInputs(form: OpcodeForm, cases: Cases): BigUint64Array<ArrayBuffer> {
  const { threads, sources, active } = cases;
  const words = new BigUint64Array((sources.length + 2) * threads);
  for (let t = 0; t < threads; t++) {
    form.sources.forEach((_, s) => {
      words[s * threads + t] = sources[s]![t]!;
    });
    words[sources.length * threads + t] = active[t] ? 1n : 0n;
    words[(sources.length + 1) * threads + t] = BigInt(warpMask(cases, t));
  }
  return words;
}

const SHOWN = 3;

function firstDisagreements(form: OpcodeForm, cases: Cases, got: BigUint64Array): string | undefined {
  const wanted = expectedResults(form, cases);
  const instruction = parseForm(form).instructions.at(-1)!;
  const problems: string[] = [];
  form.results.forEach((type, r) => {
    for (let t = 0; t < cases.threads; t++) {
      const want = wanted[r]![t];
      if (want === undefined) continue;
      const inputs = cases.sources.map((values) => values[t]!);
      const value = got[r * cases.threads + t]!;
      const problem = disagreement(instruction, inputs, value, want, type);
      if (problem) problems.push(describe(t, r, cases.active[t]!, inputs, value, want, problem));
    }
  });
  return problems.length === 0 ? undefined : `${problems.length} wrong; ${problems.slice(0, SHOWN).join('; ')}`;
}

const hex = (value: bigint): string => `0x${value.toString(16)}`;

function describe(
  thread: number,
  result: number,
  active: boolean,
  inputs: readonly bigint[],
  got: bigint,
  want: bigint,
  problem: string,
): string {
  const who = `thread ${thread}${active ? '' : ' (off)'}, result ${result}`;
  return `${who}: inputs ${inputs.map(hex).join(' ')}, got ${hex(got)}, want ${hex(want)} (${problem})`;
}
