import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { LaunchStepDeclaration, ParameterValues } from '../../core/kernel.ts';
import { listValues } from '../../core/plan/parameter-values.ts';
import type { PatternContext } from '../pattern.ts';

const isLaunch = (step: object): step is LaunchStepDeclaration => 'function' in step;

/**
 * CTAs of the kernel's largest launch with other parameters; undefined where its grid cannot be told from dimensions
 * and parameters.
 */
export function ctaCountWith(context: PatternContext, parameters: ParameterValues): number | undefined {
  const scope = { ...context.dimensions, ...parameters, 'device.smCount': context.spec.smCount.value };
  const counts = context.candidate.kernel.file.steps.filter(isLaunch).flatMap((step) => {
    try {
      if (step.when !== undefined && evaluateExpression(step.when, scope) === 0) return [];
      return [step.grid.reduce<number>((count, extent) => count * evaluateExpression(extent, scope), 1)];
    } catch {
      // The expression needs something only a launch knows (occupancy); this pattern then has nothing to say.
      return [];
    }
  });
  return counts.length > 0 ? Math.max(...counts) : undefined;
}

/** Every allowed value of every parameter that changes the CTA count, with the count it gives. */
export function ctaCountChoices(
  context: PatternContext,
): { parameter: string; from: number; value: number; ctaCount: number }[] {
  const { kernel, parameters } = context.candidate;
  const current = ctaCountWith(context, parameters);
  return Object.entries(kernel.file.parameters ?? {}).flatMap(([parameter, { values }]) => {
    const from = parameters[parameter];
    if (from === undefined) return [];
    return listValues(values).flatMap((value) => {
      const ctaCount = ctaCountWith(context, { ...parameters, [parameter]: value });
      return ctaCount === undefined || ctaCount === current ? [] : [{ parameter, from, value, ctaCount }];
    });
  });
}
