import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type { DrawRule } from '../../core/measuring-device.ts';
import type { Dimensions, Generator } from '../../core/problem.ts';
import { isDense } from '../launches/layout.ts';
import { NORMAL } from '../oracle/generators/generator.ts';

type RuleOf<K extends Generator['kind']> = (
  generator: Extract<Generator, { kind: K }>,
  buffer: PlannedBuffer,
  dimensions: Dimensions,
) => DrawRule | undefined;

/** Device versions of the distributions in generators/. The host draws kinds that are missing here. */
const RULES: { readonly [K in Generator['kind']]?: RuleOf<K> } = {
  normal: ({ mean = 0, standardDeviation = 1 }) => ({ kind: 'normal', mean, standardDeviation }),
  large: ({ magnitude }) => ({ kind: 'normal', mean: 0, standardDeviation: magnitude }),
  uniform: ({ low, high }) => ({ kind: 'uniform', low, high }),
  positive: ({ low = 0.0625, high = 1 }) => ({ kind: 'uniform', low, high }),
  constant: ({ value }) => ({ kind: 'constant', value }),
  'index-range': ({ low, high }, _buffer, dimensions) => ({
    kind: 'integers',
    low: evaluateExpression(low, dimensions),
    high: evaluateExpression(high, dimensions) - 1,
  }),
  permutation: (_generator, { shape }) => (shape.length === 1 ? { kind: 'permutation' } : undefined),
};

/** The rule by which a device draws this input; undefined if only the host can draw it. */
export function drawRuleOf(buffer: PlannedBuffer, dimensions: Dimensions): DrawRule | undefined {
  if (!isDense(buffer)) return undefined;
  const generator: Generator = buffer.generator ?? NORMAL;
  const rule = RULES[generator.kind] as RuleOf<Generator['kind']> | undefined;
  return rule?.(generator as never, buffer, dimensions);
}
