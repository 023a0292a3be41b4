import type { ParameterValues } from '../../core/kernel.ts';
import { listValues } from '../../core/plan/parameter-values.ts';
import { failedConstraint } from '../../core/plan/parameters.ts';
import type { PatternContext, SettingChange } from '../pattern.ts';

export function meetsConstraints({ candidate, dimensions }: PatternContext, parameters: ParameterValues): boolean {
  try {
    return failedConstraint(candidate.kernel.file, parameters, dimensions) === undefined;
  } catch {
    // A constraint that can't be evaluated for a value rules it out.
    return false;
  }
}

/**
 * Changes of one other parameter that make a change valid which alone breaks a constraint: of each parameter in declared
 * order, the nearest value first.
 */
export function mendingChanges(context: PatternContext, { parameter, value }: SettingChange): SettingChange[] {
  const { kernel, parameters } = context.candidate;
  const wanted = { ...parameters, [parameter]: value };
  return Object.entries(kernel.file.parameters ?? {}).flatMap(([other, declaration]) => {
    const from = parameters[other]!;
    if (other === parameter) return [];
    return listValues(declaration.values)
      .toSorted((a, b) => Math.abs(a - from) - Math.abs(b - from))
      .filter((near) => near !== from && meetsConstraints(context, { ...wanted, [other]: near }))
      .map((near): SettingChange => ({ parameter: other, from, value: near }));
  });
}
