import type { EvidenceItem } from '../../core/finding.ts';
import type { DiagnosisContext, ModelledLaunch, Observation, Rule } from '../rule.ts';
import { type Change, estimate } from '../what-if.ts';

/** A launch with the figure by which it was judged. */
export interface Judged extends ModelledLaunch {
  readonly value: number;
}

/** A text, or what makes it from the slowest launch that the rule fires for. */
type Said = string | ((worst: Judged, context: DiagnosisContext) => string);

interface FigureRule
  extends Pick<Rule, 'id' | 'minimumSpeedup'>,
    Pick<EvidenceItem, 'counter' | 'unit' | 'threshold' | 'comparison'> {
  /** The figure of a launch; undefined if the rule says nothing of it. */
  valueOf(item: ModelledLaunch, context: DiagnosisContext): number | undefined;
  readonly title: Said;
  where(item: Judged, context: DiagnosisContext): string;
  readonly advice: Said;
  /** What the estimate supposes, in words, and how a launch then looks. */
  readonly remedy: Said;
  change(item: Judged, context: DiagnosisContext): Change;
}

/** A rule that fires for launches of which one figure lies beyond a threshold. Without a remedy of other launches. */
export const figureRule = ({ id, minimumSpeedup, ...rule }: FigureRule): Rule => ({
  id,
  minimumSpeedup,
  observe: (context) => observe(rule, context),
});

function observe(rule: Omit<FigureRule, 'id' | 'minimumSpeedup'>, context: DiagnosisContext): Observation | undefined {
  const { counter, unit, threshold, comparison } = rule;
  const found = context.launches.flatMap((item): Judged[] => {
    const value = rule.valueOf(item, context) ?? Number.NaN;
    const isBeyond = comparison === 'above' ? value > threshold : value < threshold;
    return isBeyond ? [{ ...item, value }] : [];
  });
  const [worst] = found;
  if (!worst) return undefined;
  const text = (said: Said): string => (typeof said === 'string' ? said : said(worst, context));
  return {
    title: text(rule.title),
    evidence: found.map((item) => ({
      ...{ counter, value: item.value, unit, threshold, comparison },
      where: rule.where(item, context),
    })),
    advice: text(rule.advice),
    ...estimate(context, text(rule.remedy), ({ launch }) => {
      const own = found.find((item) => item.launch === launch);
      return own && rule.change(own, context);
    }),
  };
}
