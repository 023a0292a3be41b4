import type { LaunchCounters, Polls } from '../../core/counters.ts';
import type { DeviceSpec } from '../../core/device-spec.ts';
import { figure } from '../../core/values.ts';
import { INSTRUCTION_CLASSES } from '../../core/vocabulary.ts';
import { latencyClocks } from './class-costs.ts';
import type { Schedule } from './schedule.ts';

/** How CTAs that wait for those before them find out what they need. */
interface Chain {
  readonly clocks: number;
  readonly arithmetic: string;
}

/**
 * The chain through CTAs that look back, as decoupled look-back does: a warp reads the words of w CTAs before at once, and goes on backwards
 * until it meets one that knows what all before it add up to. Whoever finds out in one step is seen in the step after the next. So
 * each step makes it known to w more CTAs than the one before, and after k steps w k² ÷ 4 know. In docs/results/h200-counters.json
 * CTAs of `scan/04_look_back` read 2.4, 5.2 and 9.4 times in the mean, 128, 512 and 2048 of them; this gives 2.7, 5.3 and 10.7.
 *
 * Nothing is known of CTAs that read one word at a time, which may all wait for the same. The first step is in a CTA's own time.
 */
export function lookBackChain(
  { polls, ctaCount }: LaunchCounters,
  { residentCtas, activeSms }: Schedule,
  spec: DeviceSpec,
): Chain | undefined {
  // Where CTAs run one after the other, one that looks back reads once: who reads more often waits for all.
  const { requests = 0, words = 0 } = polls ?? {};
  const window = words / requests;
  const steps = 2 * Math.sqrt(Math.min(requests, residentCtas * activeSms) / window) - 1;
  if (!polls || !(window > 1 && requests <= ctaCount && steps > 0)) return undefined;
  const perStep = roundClocks(polls, spec);
  return {
    clocks: steps * perStep,
    arithmetic: `${figure(steps)} steps of ${figure(window)} CTAs × ${figure(perStep)} clocks`,
  };
}

/** One round of the loop. L1 does not answer what is read anew. */
function roundClocks({ round }: Polls, spec: DeviceSpec): number {
  const { l2, shared, barrier } = spec.latencyClocks;
  const memory = { globalLoad: l2.value, sharedLoad: shared.value, barrier: barrier.value };
  return INSTRUCTION_CLASSES.reduce(
    (clocks, name) => clocks + (round.waits[name] ?? 0) * latencyClocks(name, memory, spec),
    round.issued,
  );
}
