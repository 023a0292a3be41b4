import type { PtxFunction, PtxInstruction, PtxOperand, PtxStatement } from '../../ptx/ast.ts';
import { definitionsAndUses } from '../../ptx/instructions/properties.ts';
import { uniqueName } from '../../ptx/unique-name.ts';

/** A selection whose outcome another one selects: what it picks beside what both leave, and the condition for that. */
interface Selection {
  readonly whenTrue: PtxOperand;
  readonly whenFalse: PtxOperand;
  readonly condition: Predicate;
}

type Predicate = Extract<PtxOperand, { kind: 'register' }>;

/**
 * Compilers make two nested selections of `if (a && b) x = y`, so that no instruction combines the conditions. Here one does, in front of the outer selection, which counts for nothing:
 * whether both ever held together is a decision like any other.
 */
export function withCombinedSelections(fn: PtxFunction): PtxFunction {
  const definitions = new Map<string, number>();
  for (const statement of fn.body)
    if (statement.kind === 'instruction')
      for (const register of definitionsAndUses(statement.instruction).definitions)
        definitions.set(register, (definitions.get(register) ?? 0) + 1);
  const isFixed = ({ name }: Predicate): boolean => definitions.get(name) === 1;
  const registers = new Map(fn.registers);
  const used = new Set(registers.keys());
  let selections = new Map<string, Selection>();
  const body = fn.body.flatMap((statement): PtxStatement[] => {
    if (statement.kind === 'label') {
      selections = new Map();
      return [statement];
    }
    const selection = selectionOf(statement.instruction);
    const [destination] = statement.instruction.operands;
    if (!selection || destination?.kind !== 'register' || !isFixed(selection.condition)) return [statement];
    selections.set(destination.name, selection);
    const both = jointConditions(selection, selections).filter(([, inner]) => isFixed(inner));
    const combined = both.map(([outer, inner]): PtxStatement => {
      const name = uniqueName(used, '%both');
      registers.set(name, 'pred');
      return { kind: 'instruction', instruction: conjunction(statement.instruction, name, outer, inner) };
    });
    return [...combined, statement];
  });
  return { ...fn, registers, body };
}

function selectionOf({ opcode, guard, operands }: PtxInstruction): Selection | undefined {
  const [, whenTrue, whenFalse, condition] = operands;
  if (opcode !== 'selp' || guard || !whenTrue || !whenFalse || condition?.kind !== 'register') return undefined;
  return { whenTrue, whenFalse, condition };
}

/** The outer condition and the inner one with which a value is picked that neither selection has otherwise. */
function jointConditions(outer: Selection, selections: ReadonlyMap<string, Selection>): [Predicate, Predicate][] {
  const sides = [
    { picked: outer.whenTrue, left: outer.whenFalse, condition: outer.condition },
    { picked: outer.whenFalse, left: outer.whenTrue, condition: negated(outer.condition) },
  ];
  return sides.flatMap(({ picked, left, condition }): [Predicate, Predicate][] => {
    const inner = picked.kind === 'register' ? selections.get(picked.name) : undefined;
    if (inner && isSame(inner.whenFalse, left)) return [[condition, inner.condition]];
    return inner && isSame(inner.whenTrue, left) ? [[condition, negated(inner.condition)]] : [];
  });
}

const negated = ({ name, negated: is }: Predicate): Predicate =>
  is ? { kind: 'register', name } : { kind: 'register', name, negated: true };

const isSame = (one: PtxOperand, other: PtxOperand): boolean =>
  (one.kind === 'register' && other.kind === 'register' && one.name === other.name) ||
  (one.kind === 'immediate' && other.kind === 'immediate' && one.value === other.value);

function conjunction(at: PtxInstruction, name: string, outer: Predicate, inner: Predicate): PtxInstruction {
  const operands: PtxOperand[] = [{ kind: 'register', name }, outer, inner];
  return { ...at, opcode: 'and', modifiers: ['pred'], text: 'and.pred', operands, countedAs: null };
}
