import {
  code,
  type Document,
  documentOf,
  fact,
  type Inline,
  type Item,
  list,
  note,
  type Part,
  strong,
} from '../document.ts';
import {
  describeBounds,
  formatCandidate,
  formatFigure,
  formatInstant,
  formatInterval,
  formatParameters,
  formatPercent,
  formatRatioInterval,
  formatSeconds,
  formatTiming,
} from '../format.ts';
import type { RunView } from '../run-view.ts';
import { EVIDENCE_SECTIONS } from '../sections/run-evidence.ts';
import { RESULT_SECTIONS } from '../sections/run-result.ts';
import { SEARCH_SECTIONS } from '../sections/run-search.ts';
import {
  cited,
  describeEvaluations,
  evaluationLink,
  formatAmount,
  formatGain,
  headline,
  kindOf,
  SAME,
} from '../sections/run-words.ts';

/** `guided by findings`, or what else chose the candidates. */
function describeStrategy({ objective: { strategy, diagnosis } }: RunView): string {
  if (strategy !== 'guided') return `${strategy}, which asks no findings`;
  return diagnosis ? 'guided by findings' : 'guided, but with diagnosis off';
}

/** `3 of 30 evaluations; wall time 0.10 of 5 min`: what is not limited is left to the ledger. */
function describeBudget(view: RunView): string {
  const { figure, beyond } = describeEvaluations(view);
  return view.ledger.lines
    .flatMap(({ name, used, limit, unit }) => {
      if (name === 'evaluations') return [`${figure} evaluations${beyond && `, ${beyond}`}`];
      return limit === null
        ? []
        : [`${name} ${formatAmount(name, used)} of ${formatFigure(limit)}${unit && ` ${unit}`}`];
    })
    .join('; ');
}

/** What every figure of the run is, for the reader who looks at nothing else. */
const KIND_NOTES: Readonly<Record<'measured' | 'predicted', Inline>> = {
  predicted: [
    'All times are ',
    strong('predicted'),
    ' by a model of the device, with its interval; nothing here was measured on hardware. Ratios near 1 are ties.',
  ],
  measured: [
    'All times are ',
    strong('measured'),
    ' on hardware, with 95 % intervals. × previous best comes from the same blocks and has a verdict; × start divides ' +
      'medians of different blocks and is for orientation; only the confirmation says how much faster the best is than the start.',
  ],
};

/** How sure the headline is. */
function certainty({ best, start, speedup, confirmations, minimisedEnergy }: RunView): Part {
  const confirmation = confirmations.at(-1);
  const energy = minimisedEnergy && confirmation?.energy;
  if (!best || speedup === null || best.evaluationId === start?.evaluationId) return null;
  if (best.kind === 'predicted') {
    const confirmed = confirmation?.outcome === 'accepted' ? ' It was right with another seed, too.' : '';
    return note(
      `The model’s interval of the best time is ${formatInterval('predicted', best.intervalNs)}.${confirmed}`,
    );
  }
  const { intervalRatio, verdict, outcome, sanitizer } = confirmation!;
  const interval = intervalRatio ? `95 % interval ${formatRatioInterval(intervalRatio)}, ` : '';
  const clean = sanitizer ? `; sanitizer: ${sanitizer}` : '';
  if (energy)
    return note(
      `Energy: 95 % interval ${formatRatioInterval(energy.intervalRatio)}, ${energy.verdict} than the start on fresh blocks, ${outcome}${clean}. Time: ${interval}${verdict ?? 'no verdict'}.`,
    );
  return note(`${interval}${verdict ?? 'no verdict'} than the start on fresh blocks, ${outcome}${clean}.`);
}

const describeCandidate = (time: NonNullable<RunView['best']>): Inline => [
  strong(formatCandidate(time.candidate)),
  `, ${formatTiming(time)}, candidate `,
  code(time.candidate.id),
  ', ',
  evaluationLink(time.evaluationId),
];

/** What was not evaluated in this run, and why not. */
function describeRepeats({ repeats, evaluationsUsed }: RunView): string | null {
  if (!repeats) return null;
  const { count, firstAt, lastAt, elapsedMs } = repeats;
  const [first, last] = [formatInstant(firstAt), formatInstant(lastAt)];
  const when = first === last ? first : `${first} to ${last}`;
  return `${count} of ${evaluationsUsed} evaluations were made before (${when}, in ${formatSeconds(elapsedMs)}): ${SAME}; --fresh evaluates again`;
}

const ENERGY_NOTE =
  'energy: a change was kept if the joules of a launch sequence are less, by their verdict, whatever its time; what a screen ruled out by its time alone would need more even at half of idle power';

function facts(view: RunView): (Item | null)[] {
  const { problem, workload, device, stop, goal, seed, start, best, bounds, changes, repository, tornLastLine } = view;
  const { minimisedEnergy } = view;
  const steps = (changes?.steps ?? []).map((step, index) =>
    cited(`${index > 0 ? '; ' : ''}${step.change} ${formatGain(step)}`, step.evaluationId),
  );
  const isFaster = best && best.evaluationId !== start?.evaluationId;
  const reached = best && bounds && ` (${formatPercent(bounds.attainableNs / best.medianNs)} reached, ${best.kind})`;
  return [
    fact(
      'Problem',
      `${problem.name}, workload ${workload.name} (${formatParameters(workload.dimensions)}; ${workload.cache} cache)`,
    ),
    fact('Device', [`${device.name} (`, code(device.id), ')']),
    fact('Minimised', minimisedEnergy && ENERGY_NOTE),
    fact('Start', start && describeCandidate(start)),
    fact('Best', isFaster && describeCandidate(best)),
    fact('Kept changes', steps.length > 0 && [...steps, ', each against the best before it']),
    fact('Bounds', bounds && `${describeBounds(bounds)}${reached ?? ''}`),
    fact(
      'Stopped',
      stop
        ? `${stop.reason}: ${stop.detail}`
        : 'the log has no end: the run is still going, or died. This is how far it came',
    ),
    fact('Search', describeStrategy(view)),
    fact('Budget', `${describeBudget(view)}; goal: ${goal?.text ?? 'none'}; seed ${seed}`),
    fact('Repeats', describeRepeats(view)),
    fact(
      'Files',
      repository && [code(repository.commit), repository.isDirty ? ', and changes that are not committed' : ''],
    ),
    fact('Log', tornLastLine && 'The last line of the event log was cut off; it is left out.'),
  ];
}

/** The report of a run, in the order a reader wants it: result, how it came about, what it rests on, what else was found. */
export function runDocument(view: RunView): Document {
  const { problem, workload, device, runId, startedAt, finishedAt } = view;
  const { large, sentence } = headline(view);
  const kind = kindOf(view);
  return documentOf(
    `${problem.name} on ${device.name}, ${workload.name}`,
    [{ kind: 'text', text: sentence, large }, certainty(view), kind && note(KIND_NOTES[kind]), list(facts(view))],
    [...RESULT_SECTIONS, ...EVIDENCE_SECTIONS, ...SEARCH_SECTIONS].map((build) => build(view)),
    `Run ${runId}, ${startedAt} to ${finishedAt ?? '–'}.`,
  );
}
