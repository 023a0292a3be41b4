import { figure } from '../../core/values.ts';
import { percent } from '../format.ts';
import { type ModelledLaunch, type Rule, resourceNs } from '../rule.ts';
import { estimate, replaceInstructions } from '../what-if.ts';

/** Time of the special-function units ÷ predicted time. */
const THRESHOLD = 0.5;
/** What is estimated: half of the special functions, a realistic next step. */
const REMAINING = 0.5;

const specialNs = (item: ModelledLaunch): number => resourceNs(item, 'special');

/** Exponentials, roots, reciprocals, sines: few units per SM carry them out, while the others wait. */
export const specialFunctionBound: Rule = {
  id: 'special-function-bound',
  minimumSpeedup: 1.02,
  observe(context) {
    const value = context.launches.reduce((sum, item) => sum + specialNs(item), 0) / context.totalNs;
    const [worst] = context.launches.toSorted((a, b) => specialNs(b) - specialNs(a));
    if (!worst || !(value > THRESHOLD)) return undefined;
    const { launch, model } = worst;
    const share = launch.instructionsByClass.special / launch.instructions;
    const bound = model.bounds.find(({ resource }) => resource === 'special')!;
    return {
      title:
        `special functions (exp, log, sin, reciprocal, root, division) take ${percent(value)} of the time:` +
        ` ${percent(share)} of the instructions, on ${context.spec.specialPerClock.value} lanes per clock and SM`,
      evidence: [
        {
          counter: 'special-function time ÷ predicted time',
          value,
          threshold: THRESHOLD,
          comparison: 'above',
          where: `${launch.functionName}: ${bound.arithmetic}`,
        },
      ],
      advice:
        'Fewer special functions: exp2 with the scale folded into an existing multiplication, one reciprocal instead of ' +
        'many divisions, values kept instead of computed again, or part of them as a polynomial on the fp32 pipe.',
      ...estimate(context, `${figure(REMAINING)} of the special functions`, (item) => ({
        launch: replaceInstructions(item, { special: item.launch.instructionsByClass.special * REMAINING }),
      })),
    };
  },
};
