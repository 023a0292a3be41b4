import { expect, it } from 'vitest';
import type { PtxFunction, PtxInstruction, PtxOperand } from '../../../src/ptx/ast.ts';
import { instructionsOf } from '../../../src/ptx/instruction-parts.ts';
import { parsePtx } from '../../../src/ptx/parse.ts';
import { withTranslations } from '../../../src/virtual-gpu/paging/with-translations.ts';
import { entry, moduleText } from '../../support/launch/ptx-text.ts';

const VARIABLE = '.global .align 4 .b8 variable[16];\n.shared .align 4 .b8 own[16];';

function functionOf(body: string): PtxFunction {
  return parsePtx(moduleText(VARIABLE, entry({ parameters: ['u64 in'], body }))).functions[0]!;
}

const shown = (operand: PtxOperand): string => {
  if (operand.kind === 'register') return operand.name;
  if (operand.kind === 'immediate') return `${operand.value}`;
  if (operand.kind !== 'address') return operand.kind;
  return `[${operand.base ? shown(operand.base) : ''}+${operand.offset}]`;
};

const line = ({ opcode, modifiers, operands, guard }: PtxInstruction): string =>
  `${guard ? `@${guard.negated ? '!' : ''}${guard.register} ` : ''}${[opcode, ...modifiers].join('.')} ${operands.map(shown).join(', ')}`;

/** What stands in place of one instruction; undefined where the function can't be run so. */
function translated(text: string): string[] | undefined {
  const before = functionOf(text);
  const after = withTranslations(before, new Set(['variable']));
  // Around it are the load of the parameter and `ret`.
  return after && instructionsOf(after).slice(1, -1).map(line);
}

const REAL = '%real';

it.each([
  ['ld.global.f32 %f0, [%in+4];', 'translate().global.load %real, [%in+4], 4', 'ld.global.f32 %f0, [%real+0]'],
  ['ld.f32 %f0, [%in];', 'translate().generic.load %real, [%in+0], 4', 'ld.f32 %f0, [%real+0]'],
  ['ld.global.nc.u8 %h0, [%in];', 'translate().global.load %real, [%in+0], 1', 'ld.global.nc.u8 %h0, [%real+0]'],
  [
    '@!%p1 st.global.v4.f32 [%in+16], {%f0, %f1, %f2, %f3};',
    '@!%p1 translate().global.store %real, [%in+16], 16',
    '@!%p1 st.global.v4.f32 [%real+0], vector',
  ],
  [
    'st.global.v2.b16 [%in], {%h0, %h1};',
    'translate().global.store %real, [%in+0], 4',
    'st.global.v2.b16 [%real+0], vector',
  ],
  [
    'cp.async.cg.shared.global [%r0], [%in+32], 16;',
    'translate().global.load %real, [%in+32], 16',
    'cp.async.cg.shared.global [%r0+0], [%real+0], 16',
  ],
  [
    'cp.async.ca.shared.global [%r0], [%in], 8, %r1;',
    'translate().global.load %real, [%in+0], 8, %r1',
    'cp.async.ca.shared.global [%r0+0], [%real+0], 8, %r1',
  ],
  ['prefetch.global.L2 [%in+64];', 'translate().global.load %real, [%in+64], 1', 'prefetch.global.L2 [%real+0]'],
])('translates the address of %s', (text, translation, access) => {
  expect(translated(text)).toEqual([translation, access]);
});

it.each([
  'ld.shared.f32 %f0, [%r0];',
  'st.local.f32 [%d0], %f0;',
  'ld.global.f32 %f0, [variable+4];',
  'st.shared.f32 [own+4], %f0;',
  'atom.shared.add.u32 %r0, [%r1], 1;',
  'cp.async.commit_group;',
  'mbarrier.init.b64 [%d0], 1;',
  'add.f32 %f0, %f1, %f2;',
  'cvta.to.global.u64 %d0, %in;',
])('leaves %s alone', (text) => {
  expect(translated(text)).toEqual(instructionsOf(functionOf(text)).slice(1, -1).map(line));
});

it.each([
  'st.global.f32 [variable+4], %f0;',
  'atom.global.add.u32 %r0, [%in], 1;',
  'atom.add.u32 %r0, [%in], 1;',
  'red.global.add.u32 [%in], 1;',
  'multimem.red.relaxed.sys.global.add.u32 [%in], %r0;',
  'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%in], 16, [%r1];',
  'cp.async.ca.shared.global [%r0], [%in], 8, %p1;',
  'discard.global.L2 [%in], 128;',
  'prefetch.tensormap [%in];',
  'isspacep.global %p0, %in;',
  'wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%in], 16;',
])('gives up at %s', (text) => {
  expect(translated(text)).toBeUndefined();
});

it('counts translations for nothing, and keeps the place and text of the access for faults', () => {
  const fn = withTranslations(functionOf('ld.global.f32 %f0, [%in];'), new Set())!;
  const [, translation, access] = instructionsOf(fn);
  expect(translation).toMatchObject({ countedAs: null, text: access!.text, ptxLine: access!.ptxLine });
  expect(access!.countedAs).toBeUndefined();
  expect(fn.registers.get(REAL)).toBe('b64');
});

it('takes a register of another name where the code has that one', () => {
  const fn = withTranslations(functionOf('.reg .b32 %real; mov.u32 %real, 1; ld.global.f32 %f0, [%in];'), new Set())!;
  expect(line(instructionsOf(fn)[2]!)).toBe('translate().global.load %real$2, [%in+0], 4');
  expect(fn.registers.get(REAL)).toBe('b32');
});
