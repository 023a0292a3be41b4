import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { Device } from '../../src/core/device.ts';
import type { DeviceBuffer } from '../../src/core/device-values.ts';
import type { Finding } from '../../src/core/finding.ts';
import { expandPlan } from '../../src/core/plan/expand-plan.ts';
import { completeParameters } from '../../src/core/plan/parameters.ts';
import type { Dimensions } from '../../src/core/problem.ts';
import type { Timing } from '../../src/core/timing.ts';
import { openDevice } from '../../src/devices/open-device.ts';
import { diagnose } from '../../src/diagnosis/diagnose.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { attentionShape } from '../support/attention-problem.ts';

const PROBLEM = join(import.meta.dirname, '..', '..', 'problems', 'attention');
const RUNGS_BY_TIME = ['04_warp', '03_rows', '01_minimal', '02_tiled'];
const CLASSIC: Dimensions = attentionShape({ B: 1, H: 8, S: 512, D: 64, causal: 0 });
/** fp16 zeros would do for counting, were it not for data-dependent branches: 0.0158 in every element. */
const FILL = new Uint8Array([0x0c, 0x24]);

describe('the attention ladder on the virtual L4', () => {
  let device: Device;
  let toolchain: Toolchain;
  const classic = new Map<string, Awaited<ReturnType<typeof diagnoseRung>>>();
  beforeAll(async () => {
    device = await openDevice('virtual:l4');
    toolchain = await createClangToolchain();
    for (const rung of RUNGS_BY_TIME) classic.set(rung, await diagnoseRung(rung, CLASSIC));
  });
  afterAll(() => device.close());

  async function diagnoseRung(
    rung: string,
    dimensions: Dimensions,
    values: Record<string, number> = {},
  ): Promise<{ timing: Timing; findings: Finding[] }> {
    const { kernel, problem } = await loadKernel(join(PROBLEM, rung));
    const parameters = completeParameters(kernel.file, values);
    const { spec } = device;
    const compiled = await toolchain.compile({
      candidate: makeCandidate(kernel, parameters),
      architecture: spec.architecture,
    });
    if (!compiled.ok) throw new Error(compiled.message);
    const loaded = await device.load(compiled.code);
    if (!loaded.ok) throw new Error(loaded.message);
    const plan = expandPlan({
      problem: problem.file,
      kernel: kernel.file,
      parameters,
      dimensions,
      device: { smCount: spec.smCount.value, sharedBytesPerCta: spec.sharedBytesPerCta.value },
    });
    const buffers = new Map<string, DeviceBuffer>();
    for (const { name, bytes, alignmentBytes } of plan.buffers) {
      const buffer = await device.allocate({ name, bytes, alignmentBytes });
      await device.fill(buffer, FILL);
      buffers.set(name, buffer);
    }
    const outcome = await device.run(loaded.module, plan, buffers, { orderSeed: 0, count: true, timeoutMs: 60_000 });
    for (const buffer of buffers.values()) await device.free(buffer);
    await device.unload(loaded.module);
    if (!outcome.ok) throw new Error(outcome.message);
    const launches = outcome.counters;
    const timing = device.predict(launches, plan, { vetoNs: 0, attainableNs: 0 });
    const totals = launches[0]!;
    const findings = diagnose({
      counters: { ...totals, totals, launches },
      timing,
      spec,
      halfPrecisionMatrixWork: true,
    });
    return { timing, findings };
  }

  it('is ordered as the published ladder is: warp, rows, minimal, tiled (870, 1634, 2870, 3652 µs)', () => {
    const times = RUNGS_BY_TIME.map((rung) => classic.get(rung)!.timing.medianNs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    // The rungs differ by more than the decision threshold of the loop.
    for (let i = 1; i < times.length; i++) expect(times[i]! / times[i - 1]!).toBeGreaterThan(1.1);
  });

  it('has the serial softmax of the tiled rung among its findings, with its line', () => {
    const { findings } = classic.get('02_tiled')!;
    const serial = findings.find(({ id }) => id === 'serial-sections');
    expect(serial).toBeDefined();
    expect(serial!.estimatedSpeedup).toBeGreaterThan(1.2);
    expect(serial!.evidence[0]!.where).toMatch(/kernel\.cu:\d+/);
  });

  it('finds no serial section in the warp-parallel rung', () => {
    expect(classic.get('04_warp')!.findings.map(({ id }) => id)).not.toContain('serial-sections');
  });

  it('says parallelism first of B1 H1 S128 with 64-row tiles: 2 CTAs on 58 SMs = 3.4 %', async () => {
    const { findings } = await diagnoseRung('02_tiled', attentionShape({ B: 1, H: 1, S: 128, D: 64, causal: 0 }), {
      BLOCK_M: 64,
    });
    expect(findings[0]!.id).toBe('parallelism');
    expect(findings[0]!.title).toContain('2 CTAs on 58 SMs = 3.4 %');
    expect(findings[0]!.estimatedSpeedup).toBeGreaterThan(5);
  });
});
