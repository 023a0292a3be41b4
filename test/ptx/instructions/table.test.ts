import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { INSTRUCTION_CLASSES } from '../../../src/core/vocabulary.ts';
import type { PtxInstruction } from '../../../src/ptx/ast.ts';
import { instructionClass, resultOf, runsAs, synchronisationOf } from '../../../src/ptx/instructions/properties.ts';
import { INSTRUCTIONS } from '../../../src/ptx/instructions/table.ts';
import { IMMEDIATE_FORMS } from '../../../src/virtual-gpu/codegen/lane/forms/immediates.ts';
import { LANE_FORMS } from '../../../src/virtual-gpu/codegen/lane/forms.ts';
import { UNIFORM_FORMS } from '../../../src/virtual-gpu/codegen/uniform/forms.ts';
import { WARP_FORMS } from '../../../src/virtual-gpu/codegen/warp/forms.ts';
import { FLOAT_FUNCTIONS } from '../../../src/virtual-gpu/runtime/scalar/float-functions.ts';
import { INTEGER_FUNCTIONS } from '../../../src/virtual-gpu/runtime/scalar/integer-functions.ts';
import { GENERAL_FUNCTIONS } from '../../../src/virtual-gpu/runtime/scalar-operations.ts';
import { WARP_OPERATIONS, WARP_OPERATIONS_BY_FORM } from '../../../src/virtual-gpu/runtime/warp-operations.ts';
import * as forms from '../../virtual-gpu/opcodes/forms.ts';

const opcodeOf = (form: string): string => form.split(/[.\s]/)[0]!;
const opcodesOf = (table: ReadonlyMap<string, unknown>): string[] => [...new Set([...table.keys()].map(opcodeOf))];

const bare = (opcode: string): PtxInstruction => ({ opcode, modifiers: [], text: opcode, operands: [], ptxLine: 1 });

const PROPERTIES = [
  'class',
  'operands',
  'result',
  'runs',
  'synchronises',
  'namesLanes',
  'memory',
  'namesSpace',
  'showsRanks',
  'control',
  'isSumOrProduct',
  'flop',
  'expansion',
] as const;

describe('the table of instructions', () => {
  it.each([...INSTRUCTIONS])('says everything about %s', (opcode, row) => {
    expect(Object.keys(row).toSorted()).toEqual([...PROPERTIES].toSorted());
    for (const property of PROPERTIES) expect(row[property], property).toBeDefined();
    const instruction = bare(opcode);
    expect(INSTRUCTION_CLASSES).toContain(instructionClass(instruction));
    for (const resolved of [resultOf, runsAs, synchronisationOf])
      expect(resolved(instruction)).toEqual(expect.any(String));
    const places = row.operands(instruction);
    if (places)
      expect(places.every((place, i) => 'optional' in place || !('optional' in (places[i - 1] ?? {})))).toBe(true);
  });

  it('agrees with itself: what writes nothing runs for its effect, and FLOP belong to arithmetic', () => {
    for (const [opcode, row] of INSTRUCTIONS) {
      if (row.control !== 'next') expect([opcode, row.runs, row.result]).toEqual([opcode, 'control', 'none']);
      if (row.runs === 'lane') expect([opcode, row.memory, row.synchronises]).toEqual([opcode, 'none', 'none']);
      if (row.flop !== 0 && row.flop !== 'matrix') expect([opcode, row.runs]).toEqual([opcode, 'lane']);
    }
  });
});

/** Tables of code by opcode, and how a warp runs what they have code for. */
const CODE: [table: string, opcodes: string[], runs: string[]][] = [
  ['lane by lane, vectors', [...opcodesOf(LANE_FORMS), ...opcodesOf(IMMEDIATE_FORMS)], ['lane']],
  ['once for the warp, scalars', opcodesOf(UNIFORM_FORMS), ['lane', 'access']],
  ['the warp together', opcodesOf(WARP_FORMS), ['warp']],
  ['lane by lane, exact', [FLOAT_FUNCTIONS, INTEGER_FUNCTIONS, GENERAL_FUNCTIONS].flatMap(opcodesOf), ['lane']],
  // `bar` and `barrier` run as their modifiers say, `ld` and `st` here when their address is a generic one.
  ['left to JavaScript', opcodesOf(WARP_OPERATIONS), ['warp', 'access', 'order', 'control']],
  ['left to JavaScript, by form', opcodesOf(WARP_OPERATIONS_BY_FORM), ['warp', 'access', 'control']],
];

describe('the code generator', () => {
  it.each(CODE)('%s: every opcode has a row that says so', (_, opcodes, expected) => {
    const wrong = opcodes.filter((opcode) => !expected.includes(runsAs(bare(opcode)) ?? 'has no row'));
    expect(wrong).toEqual([]);
  });

  it('is tested on opcodes of the table only', () => {
    const tested = [...forms.LANE_FORMS, ...forms.WARP_FORMS, ...forms.EDGE_FORMS].map(({ text }) => opcodeOf(text));
    expect(tested.filter((opcode) => !INSTRUCTIONS.has(opcode))).toEqual([]);
  });
});

const SOURCE = join(import.meta.dirname, '../../../src');
const CONSUMERS = ['ptx', 'virtual-gpu', 'devices/virtual', 'hardware', 'reports', 'diagnosis'];

const consumerFiles = (): string[] =>
  CONSUMERS.flatMap((folder) =>
    readdirSync(join(SOURCE, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(folder, file)),
  );

const quoted = (text: string): string[] => [...text.matchAll(/'([\w.]+)'/g)].map((match) => match[1]!);

/** Sets of opcodes, and opcodes that an instruction's is compared with: more than one is a list. */
function opcodeLists(code: string): string[][] {
  const sets = [...code.matchAll(/new Set(?:<\w+>)?\(\[([^\]]*)\]/g)].map((match) => quoted(match[1]!));
  const compared = [...code.matchAll(/\bopcode\s*[!=]==\s*'(\w+)'/g)].map((match) => match[1]!);
  const alternatives = [...code.matchAll(/\/\^\(\?:([\w|]+)\)/g)].map((match) => match[1]!.split('|'));
  return [...sets, [...new Set(compared)], ...alternatives].filter(
    (list) => list.length > 1 && list.every((entry) => INSTRUCTIONS.has(entry)),
  );
}

describe('consumers of the table', () => {
  it('keep no list of opcodes of their own', () => {
    const found = consumerFiles().flatMap((file) =>
      opcodeLists(readFileSync(join(SOURCE, file), 'utf8')).map((list) => `${file}: ${list.join(' ')}`),
    );
    expect(found).toEqual([]);
  });

  it.each([
    "const LOADING = new Set(['ld', 'ldu', 'atom']);",
    "if (opcode === 'ld' || opcode === 'st') return;",
    'const OPCODES = /^(?:ld|ldu|st)\\./;',
  ])('would be caught with %s', (code) => {
    expect(opcodeLists(code)).toHaveLength(1);
  });
});
