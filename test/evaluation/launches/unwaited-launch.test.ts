import { describe, expect, it } from 'vitest';
import type { CompiledCode } from '../../../src/core/compiled-code.ts';
import type { LaunchPlan, PlannedBuffer, PlannedStep } from '../../../src/core/launch-plan.ts';
import { unwaitedLaunch } from '../../../src/evaluation/launches/unwaited-launch.ts';
import { planLaunch, ptxCode } from '../../support/launch/launch-kernel.ts';

const PTX = `.version 8.0
.target sm_90
.address_size 64
.func helper() { griddepcontrol.wait; ret; }
.visible .entry early() { griddepcontrol.launch_dependents; ret; }
.visible .entry waits() { { griddepcontrol.wait; } ret; }
.visible .entry calls() { call helper, (); ret; }`;

const code = (architecture = 'sm_90a'): CompiledCode => ({ ...ptxCode(PTX), architecture });

const buffer = (name: string, role: PlannedBuffer['role']): PlannedBuffer => ({
  ...{ name, role, dtype: 'u8', shape: [4], strides: [1], bytes: 4, alignmentBytes: 256 },
});

const step = (functionName: string, names: string, programmaticDependent = true): PlannedStep => ({
  ...planLaunch({ functionName, arguments: names.split(' ') }),
  programmaticDependent,
});

const planOf = (...steps: PlannedStep[]): LaunchPlan => ({
  buffers: [buffer('x', 'in'), buffer('w', 'workspace'), buffer('v', 'workspace'), buffer('y', 'out')],
  steps,
});

const first = step('early', 'x w', false);

describe('a dependent launch', () => {
  it('must wait if it gets a buffer of the launch before', () => {
    const found = { functionName: 'early', earlier: 'early', buffer: 'w' };
    expect(unwaitedLaunch(planOf(first, step('early', 'w y')), code(), {})).toEqual(found);
    for (const name of ['waits', 'calls'])
      expect(unwaitedLaunch(planOf(first, step(name, 'w y')), code(), {})).toBeUndefined();
  });

  it('may share inputs, and what a launch long ended has written', () => {
    expect(unwaitedLaunch(planOf(first, step('early', 'x y')), code(), {})).toBeUndefined();
    expect(unwaitedLaunch(planOf(first, step('early', 'v', false), step('early', 'w y')), code(), {})).toBeUndefined();
  });

  it('may overlap launches before the last, too', () => {
    const plan = planOf(first, step('waits', 'v'), step('early', 'w y'));
    expect(unwaitedLaunch(plan, code(), {})?.earlier).toBe('early');
  });

  it('must wait on those GPUs, too, that start it after the one before: others run the same source', () => {
    const plan = planOf(first, step('early', 'w y'));
    const waiting = { 'kernel.cu': '#if __CUDA_ARCH__ >= 900\n  asm volatile("griddepcontrol.wait;");\n#endif' };
    expect(unwaitedLaunch(plan, code('sm_89'), {})?.buffer).toBe('w');
    expect(unwaitedLaunch(plan, code('sm_89'), waiting)).toBeUndefined();
    expect(unwaitedLaunch(plan, code('sm_90'), waiting)?.buffer).toBe('w');
  });

  it('must not read before it waits what the launch before writes', () => {
    const text = `.version 8.0
.target sm_90
.address_size 64
.visible .entry writes(.param .u64 x, .param .u64 w) {
  .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [w];
  ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1; ret;
}
.visible .entry idle(.param .u64 v) { ret; }
.visible .entry waits(.param .u64 v) { griddepcontrol.wait; ret; }
.visible .entry reads_early(.param .u64 w, .param .u64 y) {
  .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [w]; ld.param.u64 %rd2, [y];
  ld.global.u32 %r1, [%rd1+4]; griddepcontrol.wait; st.global.u32 [%rd2], %r1; ret;
}
.visible .entry may_read_early(.param .u64 w, .param .u64 y) {
  .reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [w]; ld.param.u64 %rd2, [y];
  mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0; @%p1 bra past; griddepcontrol.wait;
past:
  ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1; ret;
}
.visible .entry reads_late(.param .u64 w, .param .u64 y) {
  .reg .b64 %rd<3>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [w]; ld.param.u64 %rd2, [y];
  griddepcontrol.wait; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1; ret;
}`;
    const compiled: CompiledCode = { ...ptxCode(text), architecture: 'sm_90a' };
    const before = step('writes', 'x w', false);
    const behind = (name: string, names: string) => unwaitedLaunch(planOf(before, step(name, names)), compiled, {});
    for (const name of ['reads_early', 'may_read_early'])
      expect(behind(name, 'w y')).toEqual({ functionName: name, earlier: 'writes', buffer: 'w', early: 'somewhere' });
    expect(behind('reads_late', 'w y')).toBeUndefined();
    // A wait covers what the launch before waited for: not what one wrote that it did not wait for.
    const between = (name: string, names: string) =>
      unwaitedLaunch(planOf(before, step(name, 'v'), step('reads_late', names)), compiled, {});
    expect(between('idle', 'w y')).toEqual({
      ...{ functionName: 'reads_late', earlier: 'writes', buffer: 'w', between: 'idle' },
    });
    expect(between('waits', 'w y')).toBeUndefined();
    expect(between('idle', 'x y')).toBeUndefined();
    expect(between('idle', 'v y')).toBeUndefined();
    // Inputs, and what nobody writes meanwhile.
    expect(behind('reads_early', 'x y')).toBeUndefined();
    expect(behind('reads_early', 'v y')).toBeUndefined();
  });
});
